import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { functionLines, productMains, reachedFrom, readSourceGraph } from './source-graph.ts';

/** Prints the lines of source that the shipped programs reach, by app and package, and how long files and functions are. */
async function printLines(root: string): Promise<void> {
  const graph = await readSourceGraph(root);
  const rooms = new Map<string, number>();
  const files: Sized[] = [];
  const functions: Sized[] = [];
  for (const file of reachedFrom(graph, productMains(graph))) {
    const text = graph.modules.get(file)?.text ?? '';
    const [, room] = /^((?:apps|packages)\/[^/]+)\//.exec(file) ?? [];
    if (room === undefined) continue;
    const lines = text.split('\n').length - 1;
    rooms.set(room, (rooms.get(room) ?? 0) + lines);
    files.push({ name: file, lines });
    functions.push(
      ...functionLines(text, file.endsWith('x') ? 'tsx' : 'ts').map(({ name, lines }) => ({ name: `${file} ${name}`, lines })),
    );
  }
  for (const [room, lines] of [...rooms].toSorted(([a], [b]) => a.localeCompare(b))) console.log(`${String(lines).padStart(6)}  ${room}`);
  console.log(`${String(files.reduce((sum, { lines }) => sum + lines, 0)).padStart(6)}  together`);
  printSizes('files', files);
  printSizes('functions', functions);
}

interface Sized {
  readonly name: string;
  readonly lines: number;
}

function printSizes(what: string, all: readonly Sized[]): void {
  const sorted = all.toSorted((a, b) => b.lines - a.lines);
  console.log(`\n${sorted.length} ${what}, median ${sorted[Math.floor(sorted.length / 2)]?.lines} lines; the longest:`);
  for (const { name, lines } of sorted.slice(0, 10)) console.log(`${String(lines).padStart(6)}  ${name}`);
}

// Another checkout can be named, for the figures of before.
await printLines(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '../..'));
