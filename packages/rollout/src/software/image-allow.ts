/** Which images may run on spokes as root beside the runtime's socket. Pure. */

/** `registry/repository` of an image reference, without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ''] = image.split('@', 1);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon === -1 ? name : name.slice(0, colon);
}

/**
 * True when an entry of the list allows the image. An entry is a digest (`sha256:…`), a whole reference with tag or digest, or a prefix that
 * ends where a part of the name does. `registry/team` allows `registry/team/puller:1`, not `registry/teammate/puller`.
 */
export function isImageAllowed(image: string, allowed: readonly string[]): boolean {
  const repository = repositoryOf(image);
  return allowed.some((entry) => {
    if (/^sha256:[0-9a-f]{64}$/.test(entry)) return image.endsWith(`@${entry}`);
    const prefix = entry.replace(/(?<!\/)\/+$/, '');
    return prefix !== '' && (image === prefix || repository === prefix || repository.startsWith(`${prefix}/`));
  });
}

/** The list as a sentence has it. */
export const allowedImages = (allowed: readonly string[]): string =>
  allowed.length > 0 ? `the hub allows ${allowed.join(', ')}: name one of these` : 'the hub allows none: leave it out';
