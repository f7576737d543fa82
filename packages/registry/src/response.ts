import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { foreign, readJson } from '@flotilla/api';
import { parseRetryAfter, readBounded } from '@flotilla/http';
import { z } from 'zod';
import { RegistryError, RegistryErrorCode, type RegistryErrorDetails } from './errors.ts';
import type { Descriptor } from './manifest.ts';
import type { Answer } from './transport.ts';

const ErrorBody = foreign(z.object({ errors: z.array(z.object({ code: z.string(), message: z.string().optional() })).min(1) }));

/** Body of an answer without a compression that nobody asked for: Go's clients take one too. */
export function decodedBody({ body, headers }: Pick<Answer, 'body' | 'headers'>): Readable {
  if (!/^x?-?gzip$/i.test(headers['content-encoding']?.trim() ?? '')) return body;
  const decoded = createGunzip();
  // The reader of the decoded body sees the failure of either.
  pipeline(body, decoded, () => {});
  return decoded;
}

const MAX_ERROR_BYTES = 16 * 1024;
/** Milliseconds for the words of a refusal: its status counts without them. */
const WORDS_MS = 2_000;

/**
 * Returns for 2xx; otherwise reads the server's message (bounded) and throws. A refusal by storage that the registry led to says nothing of the image:
 * its address may have run out, and the registry gives a fresh one.
 * @throws RegistryError `_UNAUTHORIZED` (401, 403), `_NOT_FOUND`, `_RATE_LIMITED`, `_UNAVAILABLE` (408, 5xx, and what storage refuses but ranges),
 * `_BAD_RESPONSE` (the rest).
 */
export async function requireSuccess(
  answer: Answer,
  { image, host: registry, isAddress = false }: { image: string; host: string; isAddress?: boolean },
): Promise<void> {
  const { status, redirected, url } = answer;
  if (status >= 200 && status < 300) return;
  const words = await serverWords(answer);
  const host = answererOf(answer, registry);
  const details = { image, host, status, retryAfterMs: parseRetryAfter(answer.headers['retry-after']) };
  const isStorage = redirected && !isRegistry(url);
  const { code, text } = wordsOf(status, isAddress, isStorage);
  const who = isStorage && !isAddress ? `${host} (storage of ${registry})` : host;
  throw new RegistryError(code, `${image}: ${who} answered ${status}${words ? ` (${words})` : ''}${askedWait(details)}; ${text}`, details);
}

/** Host that answered: storage, or another registry, where this one led there. */
export const answererOf = ({ redirected, url }: Pick<Answer, 'redirected' | 'url'>, registry: string): string =>
  redirected ? url.host : registry;

/** True for the address of another registry that a registry leads to: it answers for the image itself, and its address does not run out. */
const isRegistry = ({ pathname, search }: URL): boolean => search === '' && /^\/v2\/.+\/(?:manifests|blobs)\/[^/]+$/.test(pathname);

function wordsOf(status: number, isAddress: boolean, isStorage: boolean): ReturnType<typeof verdict> {
  if (isAddress) return { code: verdict(status).code, text: 'the image names this address for a layer' };
  return isStorage && status !== RANGE_REFUSED ? STORAGE_REFUSES : verdict(status);
}

/** Words on the wait that a server asks for. */
export const askedWait = ({ retryAfterMs }: Pick<RegistryErrorDetails, 'retryAfterMs'>): string =>
  retryAfterMs === undefined ? '' : ` and asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;

/** Status of an answer that does not give the range that was asked for. */
export const RANGE_REFUSED = 416;

/**
 * Ends an answer that has another length than the blob, before its first byte is taken.
 * @throws RegistryError `_BAD_RESPONSE`; for a range with `RANGE_REFUSED`, so that the whole blob is asked for
 */
export function requireLength(answer: Answer, { digest, size }: Descriptor, registry: string): void {
  const { status, headers, body } = answer;
  const isRange = status === 206;
  const given = isRange ? /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] : headers['content-length'];
  if (given === undefined || Number(given) === size || (!isRange && headers['content-encoding'] !== undefined)) return;
  body.destroy();
  const host = answererOf(answer, registry);
  const message = `${host} answered ${given} bytes for blob ${digest}, which has ${size}`;
  throw new RegistryError(RegistryErrorCode.badResponse, message, { host, ...(isRange && { status: RANGE_REFUSED }) });
}

/**
 * Ends an answer whose type or first bytes are those of a web page: a log-in page comes with status 200.
 * @throws RegistryError `_BAD_RESPONSE`
 */
export function requireNoPage(answer: Answer, { what, host: registry, first }: { what: string; host: string; first?: Buffer }): void {
  const { headers, body } = answer;
  const isPage = /^text\/html\b/i.test(headers['content-type'] ?? '');
  if (!isPage && !/^\s*<(?:!doctype html|html)\b/i.test(first?.toString('latin1', 0, 256) ?? '')) return;
  body.destroy();
  const host = answererOf(answer, registry);
  const message = `${host} answered a web page in place of ${what}: see whether a proxy or a log-in page is in between`;
  throw new RegistryError(RegistryErrorCode.badResponse, message, { host });
}

const STORAGE_REFUSES = { code: RegistryErrorCode.unavailable, text: 'the registry is asked for a fresh address' } as const;

/** Code and advice by a status. */
export function verdict(status: number): { code: RegistryErrorCode; text: string } {
  if (status === 401) return { code: RegistryErrorCode.unauthorized, text: 'check the pull secret for this registry' };
  if (status === 403) return { code: RegistryErrorCode.unauthorized, text: 'the pull secret does not allow this repository' };
  if (status === 404) return { code: RegistryErrorCode.notFound, text: 'check the name, tag or digest' };
  if (status === 429) return { code: RegistryErrorCode.rateLimited, text: 'the registry limits our rate' };
  if (status === 408 || status >= 500) return { code: RegistryErrorCode.unavailable, text: 'the registry has a problem' };
  return { code: RegistryErrorCode.badResponse, text: 'this is not an answer a registry gives' };
}

async function serverWords(answer: Answer): Promise<string | undefined> {
  // The message is optional: for HTML, a cut body or none the status suffices.
  const text = await readBounded(decodedBody(answer), MAX_ERROR_BYTES, { signal: AbortSignal.timeout(WORDS_MS) }).then(String, () => '');
  const first = ErrorBody.safeParse(readJson(text)).data?.errors[0] ?? storageWords(text);
  return first && plainText(`${first.code}${first.message ? ` ${first.message}` : ''}`).slice(0, 256);
}

/** Text without tags: a report is shown on pages too. */
const plainText = (text: string): string => text.replaceAll(/<[^>]*>?/g, ' ').trim();

/** An error as cloud storage writes it. */
function storageWords(text: string): { readonly code: string; readonly message?: string | undefined } | undefined {
  const [, code] = /<Code>([^<]{1,100})<\/Code>/.exec(text) ?? [];
  return code === undefined ? undefined : { code, message: /<Message>([^<]{1,200})/.exec(text)?.[1] };
}
