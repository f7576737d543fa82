import { resolve } from 'node:path';
import { readSourceGraph } from '../../tools/src/source-graph.ts';

/** Folder of the repository. */
export const root = resolve(import.meta.dirname, '../..');

/** Sources of the repository, parsed once for all tests of a worker. */
export const graph = await readSourceGraph(root);

/** Texts of the sources, by path. */
export const texts: ReadonlyMap<string, string> = new Map([...graph.modules].map(([file, { text }]) => [file, text]));
