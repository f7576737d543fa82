/** `algorithm:hash` as it may become part of a URL or of a file's name. */
const DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;
/** No digest of today is longer than 140 characters. */
const MOST_CHARACTERS = 512;

/** The digest of a pull spec: what is behind its last `@`, else empty. */
export function digestOfPullSpec(pullSpec: string): string {
  const at = pullSpec.lastIndexOf('@');
  return at < 0 ? '' : pullSpec.slice(at + 1);
}

/** True for a digest whose signatures can be requested, by its length and characters. */
export const isVerifiableDigest = (digest: string): boolean => digest.length <= MOST_CHARACTERS && DIGEST.test(digest);
