import { posix } from 'node:path';

/**
 * Paths that a document names and the repository does not have: TypeScript files, and whatever begins with one of the top folders.
 * A bare file name has to be that of some file; a path may begin at the root, at the document's folder or at any folder above a file.
 */
export function missingPaths(document: string, text: string, files: readonly string[]): string[] {
  const folders = new Set(files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))));
  const known = new Set([...folders].map((path) => `/${path}`));
  const exists = (path: string): boolean =>
    folders.has(path) || folders.has(posix.join(posix.dirname(document), path)) || [...known].some((each) => each.endsWith(`/${path}`));
  return [...new Set(pathsIn(text))].filter((path) => !exists(path));
}

/** Words in backquotes or links that are paths. Patterns and placeholders name nothing in particular. */
function pathsIn(text: string): string[] {
  const words = [...text.matchAll(/`([^`\s]+)`|\]\(([^)#\s]+)/g)].map(([, quoted = '', linked = '']) => quoted || linked);
  return words
    .filter((word) => !/[*<>{}$:…]/.test(word) && (/\w\.ts$/.test(word) || /^(apps|packages|tools|test|demo|charts)\/[\w./-]+$/.test(word)))
    .map((word) =>
      posix
        .normalize(word)
        .replace(/^(\.\.?\/)+/, '')
        .replace(/\/$/, ''),
    );
}
