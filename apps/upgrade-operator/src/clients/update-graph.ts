import { STATUS_CODES } from 'node:http';
import { FlotillaError } from '@flotilla/api';
import { createHttp, type HttpSurroundings, MAX_REDIRECTS, NO_RETRY, ServiceError } from '@flotilla/http';
import {
  nextVersions,
  parseUpdateGraph,
  refuseQuery,
  type UpdateQuery,
  updateGraphLimits,
  updateUrl,
} from '@flotilla/release/update-graph';

/** Characters of a refusal that stand in the condition. */
const WORDS = 256;

/** A client of update graphs (spec/muo 4.6); it asks once, the next look is the retry. */
export function createUpdateGraph(surroundings: HttpSurroundings) {
  const { bytes: maxBytes } = updateGraphLimits;
  const http = createHttp({ retry: NO_RETRY, ...surroundings, name: 'update graph', maxBytes, redirects: MAX_REDIRECTS });
  return {
    /** Versions that the cluster may go to; conditional ones among them, whatever their risks. */
    async updates(query: UpdateQuery, signal: AbortSignal): Promise<readonly string[]> {
      const { reason, message } = refuseQuery(query) ?? {};
      if (reason) throw new FlotillaError('FLOTILLA_UPDATE_QUERY_INVALID', `${reason}: ${message}`);
      const { text } = await http.send({ method: 'GET', url: updateUrl(query), signal }).catch(inWordsOfTheReference);
      const { version, channel } = query;
      const next = nextVersions(parseUpdateGraph(text), version);
      if (next) return next;
      const why = `currently reconciling cluster version ${version} not found in the ${JSON.stringify(channel)} channel`;
      throw new FlotillaError('FLOTILLA_VERSION_NOT_FOUND', `VersionNotFound: ${why}`);
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

function inWordsOfTheReference(error: unknown): never {
  if (!(error instanceof ServiceError) || error.status < 300) throw error;
  const status = `ResponseFailed: unexpected HTTP status: ${error.status} ${STATUS_CODES[error.status] ?? ''}`.trimEnd();
  throw new FlotillaError(error.code, error.words ? `${status}: ${error.words.slice(0, WORDS)}` : status, { cause: error });
}
