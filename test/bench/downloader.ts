// npm run bench:downloader -- [--seeds N] [--json FILE]
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { LINK_RATE, runSeeds, type SeededRun, startDownloaderFixture } from './downloader-run.ts';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '100' }, json: { type: 'string' } } });
const seeds = Number(values.seeds);
if (!Number.isInteger(seeds) || seeds < 1) {
  process.stderr.write(`--seeds ${values.seeds}: give a whole number from 1\n`);
  process.exit(2);
}
/** Allowed share of bytes served per byte needed, over all runs. */
const LIMIT = 1.02;

const print = (line: string) => process.stdout.write(`${line}\n`);
await using fixture = await startDownloaderFixture();
print(`${seeds} seeded runs, ${(fixture.needed / 1e6).toFixed(1)} MB each over a link of ${LINK_RATE / 1e6} MB/s`);
print('served = bytes the link handed to the downloader (HTTP headers too), counted in a TCP proxy on the registry’s side at the');
print(
  'moment it writes them. Bytes in socket buffers or not yet in a file at a cut or kill are counted as served and are lost. A kill ends the connections with it.',
);
const { runs, failed } = await runSeeds(fixture, { seeds, onRun: report });

function report(outcome: SeededRun | Error): void {
  if (outcome instanceof Error) print(errorMessage(outcome));
  else if (outcome.seed % 10 === 0 || seeds <= 20) {
    const { seed, kills, cuts, served, needed, seconds } = outcome;
    print(`seed ${seed}: ${kills} kills, ${cuts} cuts, served/needed ${(served / needed).toFixed(4)}, ${seconds.toFixed(1)} s`);
  }
}

const sum = (pick: (run: SeededRun) => number) => runs.reduce((total, run) => total + pick(run), 0);
const ratios = runs.map((run) => run.served / run.needed).sort((a, b) => a - b);
const summary = {
  seeds,
  failed: failed.length,
  kills: sum((run) => run.kills),
  cuts: sum((run) => run.cuts),
  neededBytes: sum((run) => run.needed),
  servedBytes: sum((run) => run.served),
  ratio: sum((run) => run.served) / sum((run) => run.needed),
  medianRatio: ratios[Math.floor(ratios.length / 2)],
  worstRatio: ratios.at(-1),
  runsAboveLimit: ratios.filter((ratio) => ratio > LIMIT).length,
  registryLogBytes: await fixture.registryBytes(),
};
print(`${summary.kills} kills, ${summary.cuts} cuts, ${failed.length} failed; all digests right in ${runs.length} of ${seeds} runs`);
print(
  `bytes served / needed: all ${summary.ratio.toFixed(4)}, median ${summary.medianRatio?.toFixed(4)}, worst ${summary.worstRatio?.toFixed(4)}, runs above ${LIMIT}: ${summary.runsAboveLimit}`,
);
print(
  `(the registry’s own log: ${(summary.registryLogBytes / 1e6).toFixed(1)} MB, with what the paced link had read ahead and never passed on)`,
);
if (values.json) await writeFile(values.json, `${JSON.stringify({ ...summary, runs }, undefined, 2)}\n`);
process.exitCode = failed.length > 0 || summary.ratio > LIMIT ? 1 : 0;
