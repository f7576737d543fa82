// npm run bench:nodes -- [--cells link,lead/20,none] [--megabytes 60] [--seed 1]
import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { CELLS, nameOf, RATE, startNodesWorld } from './nodes-run.ts';

const { values } = parseArgs({
  options: { cells: { type: 'string' }, megabytes: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});
/** Allowed share of bytes over the link per byte needed. */
const LIMIT = 1.02;

const print = (line: string) => process.stdout.write(`${line}\n`);
function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

const [megabytes, seed] = [Number(values.megabytes), Number(values.seed)];
if (!(megabytes >= 1)) refuse(`--megabytes ${values.megabytes}: give a number from 1`);
if (!Number.isInteger(seed)) refuse(`--seed ${values.seed}: give a whole number`);
const wanted = values.cells?.split(',');
for (const prefix of wanted ?? [])
  if (!CELLS.some((cell) => isOf(nameOf(cell), prefix)))
    refuse(`--cells ${prefix}: there is none; names are none, ${CELLS.slice(1, 3).map(nameOf).join(', ')}, …, and their beginnings`);
const cells = CELLS.filter((cell) => wanted === undefined || wanted.some((prefix) => isOf(nameOf(cell), prefix)));
const obstacle = clusterObstacle();
if (obstacle) refuse(obstacle);

function isOf(name: string, prefix: string): boolean {
  return name === prefix || name.startsWith(`${prefix}/`);
}

cleanupOnExit();
await using world = await startNodesWorld();
print(`${cells.length} cells of ${megabytes} MB to three nodes at ${RATE}`);
print('served = payload that has crossed the link from the registry, counted by the first node, over bytes of the layers;');
print("the link's queue holds 400 ms: of connections that an outage ends, what is in it crosses in vain");
print('seconds count from the first container of the Job, and its times are whole seconds');
const missed: string[] = [];
for (const [index, cell] of cells.entries()) {
  const name = nameOf(cell);
  try {
    const { ratio, queuedBytes, firstByteSeconds, bytesSeconds, allSeconds, linkSeconds, lacking } = await world.play(cell, {
      seed: seed * 1_000 + index,
      totalBytes: megabytes * 1_000_000,
    });
    const whole = lacking.length === 0 ? 'every image on every node' : `lacking: ${lacking.join(', ')}`;
    const queue = queuedBytes === 0 ? '' : `${Math.round(queuedBytes / 1_000)} kB in the link's queue at the outage, `;
    const bytes = bytesSeconds === undefined ? '' : `the last ${bytesSeconds.toFixed(1)} s after it, `;
    print(
      `${name}: served/needed ${ratio.toFixed(4)}, ${queue}first byte after ${firstByteSeconds.toFixed(1)} s, ${bytes}all in ${allSeconds.toFixed(1)} s after it ` +
        `(the link's ${linkSeconds.toFixed(1)} s), ${whole}`,
    );
    if (ratio > LIMIT || lacking.length > 0) missed.push(name);
  } catch (error) {
    print(`${name}: ${errorMessage(error)}`);
    missed.push(name);
  }
}
print(missed.length === 0 ? `no cell above ${LIMIT}` : `above ${LIMIT}, or not whole: ${missed.join(', ')}`);
process.exitCode = missed.length === 0 ? 0 : 1;
