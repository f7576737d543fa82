import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { readOptionFile } from '@flotilla/runtime';
import { callersPath } from '../config.ts';

/** Longest text of standard input that is read, in characters. */
const MAX_INPUT = 16 * 1024 * 1024;

/** A text with manifests, and its place. */
interface ManifestText {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads `-f` as kubectl does: a file, standard input as `-`, or the YAML and JSON files of a folder, by name.
 * @throws FlotillaError `FLOTILLA_CONFIG` for one that cannot be read, or a folder without such a file
 */
export async function readManifests(file: string): Promise<ManifestText[]> {
  if (file === '-') return [{ file: 'standard input', text: await readInput() }];
  const path = callersPath(file);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [await readOne(file, path)];
  const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0) throw new FlotillaError('FLOTILLA_CONFIG', `--file: ${file}: it has no file *.yaml, *.yml or *.json`);
  return Promise.all(names.map((name) => readOne(join(file, name), join(path, name))));
}

const readOne = async (file: string, path: string): Promise<ManifestText> => ({ file, text: (await readOptionFile('--file', path)) ?? '' });

async function readInput(): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.length > MAX_INPUT) process.stdin.destroy(new FlotillaError('FLOTILLA_CONFIG', '--file: standard input is too long'));
  });
  await once(process.stdin, 'end');
  return text;
}
