import { stat } from 'node:fs/promises';
import { parseImageReference, readLayerFiles, resolveImage } from '@flotilla/registry';
import { isPayloadPath, type PayloadFile, payloadLimits } from '@flotilla/release';
import { readPayloadFolder } from '@flotilla/release/folder';
import { callersPath } from '../config.ts';
import { openRegistry } from '../registry/open.ts';
import type { RegistryOptions } from '../registry/options.ts';

/** Source and files of a payload. */
interface OpenPayload {
  /** Name for messages. */
  readonly source: string;
  /** Pull spec of a payload from a registry. */
  readonly image: string | undefined;
  readonly files: AsyncIterable<PayloadFile>;
}

/** Time-out for reading a release image, in milliseconds. */
const IMAGE_TIMEOUT_MS = 4 * 60_000;

/**
 * Opens a payload in a folder, or in a release image when no such path exists and the text is a reference with its host.
 * @throws FlotillaError `FLOTILLA_PAYLOAD_FOLDER`, `FLOTILLA_CONFIG`, or the registry's refusal
 */
export async function openPayload(given: string, options: RegistryOptions): Promise<OpenPayload> {
  const path = callersPath(given);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (isThere || !looksLikeImage(given)) return { source: path, image: undefined, files: readPayloadFolder(path) };
  return { source: given, image: given, files: readPayloadImage(given, options) };
}

/** True for `host/repository:tag` or a digest: a path has neither a host nor these. */
function looksLikeImage(text: string): boolean {
  const slash = text.indexOf('/');
  const host = text.slice(0, Math.max(slash, 0));
  return host !== '.' && host !== '..' && /[.:]/.test(host) && /[:@]/.test(text.slice(slash));
}

async function* readPayloadImage(pullSpec: string, options: RegistryOptions): AsyncGenerator<PayloadFile> {
  const reference = parseImageReference(pullSpec);
  await using client = await openRegistry(options);
  const signal = AbortSignal.timeout(IMAGE_TIMEOUT_MS);
  const image = await resolveImage(client, reference, { signal });
  const { fileBytes: maxFileBytes, totalBytes: maxTotalBytes } = payloadLimits;
  const files = await readLayerFiles(client, image, { match: isPayloadPath, maxFileBytes, maxTotalBytes, signal });
  for (const [file, content] of files) yield { path: file, content };
}
