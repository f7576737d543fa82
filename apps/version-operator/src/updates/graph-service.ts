import { STATUS_CODES } from 'node:http';
import { errorMessage } from '@flotilla/api';
import { type FollowingConnections, fetchAnswer } from '@flotilla/http';
import {
  findUpdates,
  type GraphUpdates,
  parseUpdateGraph,
  ReleaseError,
  retrievalFailed,
  type UpdateQuery,
  type UpdateRefusal,
  updateGraphLimits,
  updateHeaders,
  updateUrl,
  withoutCredentials,
} from '@flotilla/release';

/** Options of requests to an update-graph service. */
export interface GraphServiceOptions {
  readonly connections: FollowingConnections;
  /** Time-out of one request, redirects and body included. */
  readonly timeoutMs: number;
}

interface GraphQuestion {
  readonly query: UpdateQuery;
  /** `spec.desiredUpdate` asks for several architectures, which the running release has not. */
  readonly isMigration: boolean;
  readonly signal: AbortSignal;
}

/** Asks an update-graph service for the updates of the running release. Rejects only when the signal aborts. */
export async function askGraphService(
  { query, isMigration, signal }: GraphQuestion,
  { connections, timeoutMs }: GraphServiceOptions,
): Promise<GraphUpdates | UpdateRefusal> {
  const answer = await fetchGraph(query, { connections, timeoutMs }, signal);
  if ('reason' in answer) return answer;
  try {
    return findUpdates(parseUpdateGraph(answer.text), { version: query.version, channel: query.channel, isMigration });
  } catch (error) {
    if (error instanceof ReleaseError) return retrievalFailed('ResponseInvalid', error.message);
    throw error;
  }
}

async function fetchGraph(
  query: UpdateQuery,
  { connections, timeoutMs }: GraphServiceOptions,
  signal: AbortSignal,
): Promise<{ readonly text: string } | UpdateRefusal> {
  try {
    const { dispatcherFor } = await connections.current();
    const headers = updateHeaders(query.version);
    const maxBytes = updateGraphLimits.bytes;
    const { status, text } = await fetchAnswer({ url: updateUrl(query), headers, dispatcherFor, timeoutMs, maxBytes, signal });
    if (status === 200) return { text };
    return retrievalFailed('ResponseFailed', `unexpected HTTP status: ${status} ${STATUS_CODES[status] ?? ''}`.trim());
  } catch (error) {
    signal.throwIfAborted();
    return retrievalFailed('RemoteFailed', withoutCredentials(errorMessage(error)));
  }
}
