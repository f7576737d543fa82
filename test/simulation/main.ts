import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '@flotilla/api';
import { z } from 'zod';
import { type Outcome, play } from './core/play.ts';
import { randomStory } from './core/random-story.ts';
import { shrink } from './core/shrink.ts';
import type { Story } from './core/story.ts';
import { storyTable } from './core/story-table.ts';
import { knownStories } from './known-stories.ts';
import type { Batch, BatchResult } from './worker.ts';

const HELP = `Plays a hub with its fleet in this process, on a clock that skips, in an order of events that a seed picks.

  --seed N       play the story of one seed, and tell it; what fails is cut down to its shortest story
  --runs N       play so many stories; default 500
  --seconds N    play until so many seconds are over instead, and at least --least stories (default 500)
  --from N       first seed; default of the day
  --workers N    threads; default one for each processor
`;

const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);
const Options = z.object({
  seed: whole.optional(),
  runs: whole.default(500),
  seconds: whole.optional(),
  least: whole.default(500),
  from: whole.optional(),
  workers: whole.default(availableParallelism()),
});
type Options = z.output<typeof Options>;

/** Seeds of a batch that a thread plays before it asks for more. */
const BATCH = 10;
const DAY_MS = 86_400_000;
/** Seeds of one day. */
const OF_A_DAY = 20_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Sum of what happened in many runs. */
interface Total {
  runs: number;
  events: number;
  mishaps: number;
  acts: number;
  ms: number;
  /** Digest of each run by its seed. */
  readonly traces: Map<number, string>;
  readonly failed: { readonly story: Story; readonly outcome: Outcome }[];
}

const emptyTotal = (): Total => ({ runs: 0, events: 0, mishaps: 0, acts: 0, ms: 0, traces: new Map(), failed: [] });

function count(total: Total, story: Story, outcome: Outcome): void {
  total.runs += 1;
  total.events += outcome.events;
  total.mishaps += outcome.mishaps;
  total.acts += story.acts.length;
  total.ms += outcome.ms;
  total.traces.set(story.seed, outcome.trace);
  if (outcome.violation) total.failed.push({ story, outcome });
}

/** Plays stories in threads until there are enough. */
async function playMany({ from = Math.floor(Date.now() / DAY_MS) * OF_A_DAY, ...options }: Options): Promise<Total> {
  const total = emptyTotal();
  const begun = performance.now();
  let next = from;
  const isEnough = (): boolean => {
    const asked = next - from;
    if (options.seconds === undefined) return asked >= options.runs;
    return asked >= options.least && performance.now() - begun >= options.seconds * 1_000;
  };
  const thread = async (): Promise<void> => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), { resourceLimits: { maxYoungGenerationSizeMb: 64 } });
    try {
      while (!isEnough()) {
        const batch: Batch = { from: next, count: BATCH };
        next += BATCH;
        for (const { seed, outcome } of await answered(worker, batch)) count(total, randomStory(seed), outcome);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.workers) }, thread));
  return total;
}

const answered = (worker: Worker, batch: Batch): Promise<BatchResult> =>
  new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (result: BatchResult) => {
      worker.off('error', reject);
      resolve(result);
    });
    worker.postMessage(batch);
  });

/** The same for the same seeds, whatever the machine does beside. */
function digestOf({ traces }: Total): string {
  const digest = createHash('sha256');
  for (const [seed, trace] of [...traces].toSorted(([a], [b]) => a - b)) digest.update(`${seed} ${trace}\n`);
  return digest.digest('hex').slice(0, 16);
}

/** Failures that are cut down and told; of the others their seeds are named. */
const TOLD = 3;

async function tell({ failed }: Total): Promise<void> {
  for (const { story, outcome } of failed.slice(0, TOLD)) {
    const { property = '', rule = '' } = outcome.violation ?? {};
    say(`\nSeed ${story.seed}: "${property}" does not hold: ${rule}.`);
    const shortest = await shrink(story, property, play);
    const { violation } = await play(shortest);
    for (const line of storyTable(shortest)) say(`  ${line}`);
    say(`  ${((violation?.ms ?? 0) / 1_000).toFixed(1)} s: ${violation?.says}`);
    say(`  as data: ${JSON.stringify(shortest)}`);
    say(`  again: npm run simulate -- --seed ${story.seed}`);
  }
  if (failed.length > TOLD)
    say(
      `Also failed: seeds ${failed
        .slice(TOLD)
        .map(({ story }) => story.seed)
        .join(', ')}`,
    );
}

async function playOne(seed: number): Promise<Total> {
  const total = emptyTotal();
  const story = randomStory(seed);
  for (const line of storyTable(story)) say(line);
  const outcome = await play(story);
  say(`trace ${outcome.trace}`);
  count(total, story, outcome);
  return total;
}

/** The stories that once failed. */
async function playKnown(): Promise<Total> {
  const total = emptyTotal();
  for (const { story } of knownStories) count(total, story, await play(story));
  return total;
}

async function main(args: readonly string[]): Promise<number> {
  const names = ['seed', 'runs', 'seconds', 'least', 'from', 'workers'];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]));
  const { values } = parseArgs({ args: [...args], options: { ...options, help: { type: 'boolean' } } });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const parsed = Options.safeParse(values);
  if (!parsed.success) throw new RangeError(parsed.error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`).join('; '));
  const begun = performance.now();
  const known = parsed.data.seed === undefined ? await playKnown() : emptyTotal();
  await tell(known);
  const total = parsed.data.seed === undefined ? await playMany(parsed.data) : await playOne(parsed.data.seed);
  await tell(total);
  const seconds = (performance.now() - begun) / 1_000;
  const hours = (total.ms / 3_600_000).toFixed(0);
  say(
    `${total.runs} runs and ${known.runs} known stories in ${seconds.toFixed(0)} s: ${total.events} events, ${total.acts} acts, ${total.mishaps} mishaps on the way, ${hours} simulated hours; ${total.failed.length + known.failed.length} failed; traces ${digestOf(total)}`,
  );
  return total.failed.length + known.failed.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exitCode = 2;
  }
}
