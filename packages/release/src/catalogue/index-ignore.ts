import { readNamePattern } from '@flotilla/api';
import { type CatalogueFile, invalidFile } from './documents.ts';

/** Name of the files that say which files are no part of the catalogue. */
const INDEX_IGNORE = '.indexignore';

/** Limits of all ignore files together. */
const indexIgnoreLimits = { bytes: 64 * 1024, patterns: 500, length: 256 } as const;

/** A segment of a pattern. One that Go's `path.Match`, by which opm goes, refuses matches nothing. */
interface Part {
  readonly text: string;
  readonly matches: (name: string) => boolean;
}

interface Pattern {
  /** Folder of the ignore file, as segments; the pattern holds below it. */
  readonly domain: readonly string[];
  /** Segments between slashes; a single one is a name at any depth. */
  readonly parts: readonly Part[];
  readonly anchored: boolean;
  readonly directoriesOnly: boolean;
  readonly includes: boolean;
}

/**
 * Leaves out the files that `.indexignore` files name, and these themselves, as opm does. A gitignore pattern holds below the
 * folder of its file, and the last one that matches decides.
 * @throws ReleaseError `FLOTILLA_CATALOGUE_INVALID` for ignore files beyond `indexIgnoreLimits`
 */
export function withoutIgnored(files: readonly CatalogueFile[]): CatalogueFile[] {
  const ignoreFiles = files.filter(({ path }) => nameOf(path) === INDEX_IGNORE);
  // Those of folders further down come later, and win.
  const patterns = ignoreFiles.toSorted((a, b) => depthOf(a.path) - depthOf(b.path)).flatMap(readPatterns);
  const [first] = ignoreFiles;
  if (first && patterns.length > indexIgnoreLimits.patterns)
    throw invalidFile(first, `is one of files with more than ${indexIgnoreLimits.patterns} patterns together`);
  return files.filter(({ path }) => nameOf(path) !== INDEX_IGNORE && !isIgnored(path.split('/'), patterns));
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const depthOf = (path: string): number => path.split('/').length;

function isIgnored(path: readonly string[], patterns: readonly Pattern[]): boolean {
  const decisive = patterns.findLast((pattern) => matches(pattern, path));
  return decisive !== undefined && !decisive.includes;
}

function readPatterns(file: CatalogueFile): Pattern[] {
  if (file.content.byteLength > indexIgnoreLimits.bytes) throw invalidFile(file, `has more than ${indexIgnoreLimits.bytes} bytes`);
  const lines = new TextDecoder().decode(file.content).split('\n');
  const domain = file.path.split('/').slice(0, -1);
  return lines.flatMap((line) => {
    const text = trimEnd(line);
    if (text === '' || text.startsWith('#')) return [];
    if (text.length > indexIgnoreLimits.length)
      throw invalidFile(file, `has a pattern of more than ${indexIgnoreLimits.length} characters`);
    return [toPattern(domain, text)];
  });
}

/** Blanks at the end count only behind a backslash. */
function trimEnd(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.endsWith('\\ ') ? text : text.trimEnd();
}

function toPattern(domain: readonly string[], line: string): Pattern {
  const includes = line.startsWith('!');
  const body = includes ? line.slice(1) : line;
  const directoriesOnly = body.endsWith('/');
  const path = directoriesOnly ? body.slice(0, -1) : body;
  const parts = path.split('/').map((text) => ({ text, matches: readNamePattern(text) ?? (() => false) }));
  return { domain, parts, anchored: path.includes('/'), directoriesOnly, includes };
}

/** True when a pattern names a file or a folder above it. */
function matches(pattern: Pattern, path: readonly string[]): boolean {
  const { domain, parts, directoriesOnly } = pattern;
  if (path.length <= domain.length || domain.some((segment, index) => segment !== path[index])) return false;
  const below = path.slice(domain.length);
  if (pattern.anchored) return matchesPath(parts, below, directoriesOnly);
  const at = below.findIndex((name) => parts[0]?.matches(name));
  return at >= 0 && !(directoriesOnly && at === below.length - 1);
}

function matchesPath(parts: readonly Part[], path: readonly string[], directoriesOnly: boolean): boolean {
  let at = 0;
  let anyDepth = false;
  let matched = false;
  for (const [index, part] of parts.entries()) {
    if (part.text === '') anyDepth = false;
    else if (part.text === '**') {
      if (index === parts.length - 1) break;
      anyDepth = true;
    } else {
      const found = anyDepth ? path.findIndex((name, i) => i >= at && part.matches(name)) : at;
      const name = path[found];
      if (name === undefined || !part.matches(name)) return false;
      anyDepth = false;
      matched = true;
      at = found + 1;
    }
  }
  return matched && !(directoriesOnly && at === path.length);
}
