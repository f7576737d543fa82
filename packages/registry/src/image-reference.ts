import { badReferenceName, RegistryError, RegistryErrorCode } from './errors.ts';

/** Location of an image: `host/repository[:tag][@digest]`. It has a tag, a digest, or both; the digest wins. */
export interface ImageReference {
  /** Host with its port, as written (`docker.io` stays `docker.io`). */
  host: string;
  repository: string;
  tag?: string;
  /** `sha256:` and 64 hexadecimal digits. */
  digest?: string;
}

const HOST = /^(?:\[[0-9a-fA-F:]+\]|[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?)(?::[0-9]{1,5})?$/;
const REPOSITORY = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^sha256:[a-f0-9]{64}$/;
const MAX_REPOSITORY = 255;

/** Longest name of an image that runtimes take, in characters: repository, tag and the longest digest. */
const MAX_NAME = 1_024;
/** A digest of any algorithm, by the rules of image names. */
const ANY_DIGEST = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/**
 * True for a text that some runtime takes as the name of an image: by Docker's rules, with a registry's host or without, with a digest of any
 * algorithm. `parseImageReference` takes fewer.
 */
export function isImageName(text: string): boolean {
  if (text.length > MAX_NAME) return false;
  const [nameAndTag = '', ...digests] = text.split('@');
  const [, name = '', tag] = /^(.*?)(?::([^:/]*))?$/.exec(nameAndTag) ?? [];
  const slash = name.indexOf('/');
  const isHosted = slash > 0 && HOST.test(name.slice(0, slash)) && REPOSITORY.test(name.slice(slash + 1));
  return (
    (isHosted || REPOSITORY.test(name)) &&
    (tag === undefined || TAG.test(tag)) &&
    digests.length <= 1 &&
    digests.every((digest) => ANY_DIGEST.test(digest))
  );
}

/** True for a digest that this package can verify (sha256). */
export const isDigest = (text: string): boolean => DIGEST.test(text);

/**
 * Parses an image reference by Docker's rules. A name without a registry host is refused. The default tag is `latest`.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_REFERENCE`, naming the text and the fix.
 */
export function parseImageReference(text: string): ImageReference {
  const refuse = (fix: string) =>
    new RegistryError(RegistryErrorCode.badReference, `${badReferenceName(text.slice(0, 300))}: ${fix}`, { image: text.slice(0, 300) });
  const trimmed = text.trim();
  if (trimmed === '') throw refuse('is empty; write host/repository:tag or host/repository@sha256:...');
  if (trimmed.includes('://')) throw refuse('has a URL scheme; leave "…://" out');

  const [nameAndTag = '', digest, ...more] = trimmed.split('@');
  if (more.length > 0) throw refuse('has more than one "@"; write at most one digest');
  if (digest !== undefined && !isDigest(digest)) throw refuse('its digest is not sha256: followed by 64 lower-case hexadecimal digits');

  const colon = nameAndTag.lastIndexOf(':');
  const hasTag = colon > nameAndTag.lastIndexOf('/');
  // `host:5000` alone reads as name and tag, has no repository, and is refused below for lack of a registry.
  const tag = hasTag ? nameAndTag.slice(colon + 1) : undefined;
  const name = hasTag ? nameAndTag.slice(0, colon) : nameAndTag;
  if (tag !== undefined && !TAG.test(tag)) throw refuse('its tag may have letters, digits, "_", "." and "-" only, 128 at most');

  const slash = name.indexOf('/');
  const host = name.slice(0, Math.max(slash, 0));
  if (!/[.:]/.test(host) && host !== 'localhost')
    throw refuse('names no registry; write it with its host, as in registry.example.com/team/app:1.0');
  const path = name.slice(slash + 1);
  // Docker Hub completes a repository of one word.
  const repository = host === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  if (!HOST.test(host)) throw refuse(`its registry host "${host}" is not host or host:port`);
  if (repository.length > MAX_REPOSITORY) throw refuse(`its repository is longer than ${MAX_REPOSITORY} characters`);
  if (!REPOSITORY.test(repository)) throw refuse('its repository must be lower-case words joined by "/", ".", "_" or "-"');
  return { host, repository, ...((tag ?? digest) ? {} : { tag: 'latest' }), ...(tag ? { tag } : {}), ...(digest ? { digest } : {}) };
}

/** Formats the reference; parsing the text gives the same reference. */
export function formatImageReference({ host, repository, tag, digest }: ImageReference): string {
  return `${host}/${repository}${tag ? `:${tag}` : ''}${digest ? `@${digest}` : ''}`;
}

/** Pins the repository to a digest, without a tag. */
export function pinImageReference({ host, repository }: ImageReference, digest: string): ImageReference {
  return { host, repository, digest };
}
