import { FlotillaError } from '@flotilla/api';
import { readEnvironment } from '../environment.ts';
import { Growth, measure } from './measure.ts';
import { RandomValues } from './random-values.ts';

/** Something that takes input from outside. */
export interface FuzzTarget<I> {
  readonly name: string;
  /** One case: valid, nearly valid, or hostile. */
  readonly make: (random: RandomValues) => I;
  /** Handles the case as the program does. Throws what the program throws; anything but an error with a code of ours is a failure. */
  readonly run: (input: I) => unknown;
  /**
   * Longest that a case may keep the event loop for itself, milliseconds of CPU time, where no server runs it: a pause of a program
   * that runs once harms nobody, and yet has to end. Default 200.
   */
  readonly maxPauseMs?: number;
}

interface FuzzOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Cases after which it ends before that; default: none. */
  readonly most?: number | undefined;
  /** This case alone, to see a failure again. */
  readonly only?: number | undefined;
}

interface FuzzReport {
  readonly target: string;
  readonly cases: number;
  /** Cases that ended in an error, by code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Most time that a case kept the event loop for itself, in milliseconds of the thread's own CPU time. */
  readonly longestPauseMs: number;
  /** Most that the process grew beyond where it was after the first cases, MiB. */
  readonly growthMiB: number;
}

const MAX_PAUSE_MS = 200;
const MAX_GROWTH_MIB = 256;
/** The first cases load and compile code. */
const WARM_UP = 20;

/** Budget of a target in the test command. A faster machine stops at `most`, so it is done earlier. */
const SHORT = { seconds: 1.5, most: 2_000 };

/** Seed, seconds and case from `FLOTILLA_FUZZ_SEED`, `_SECONDS` (for one target) and `_CASE`. */
function fuzzOptions(): FuzzOptions {
  const { seed, seconds, only } = readEnvironment().fuzz;
  return { seed, ...(seconds === undefined ? SHORT : { seconds }), ...(only !== undefined && { only }) };
}

/** A target as the runner of the tests lists it; `fuzz` runs it with `fuzzOptions` and prints what it came to. */
interface NamedTarget {
  readonly name: string;
  readonly fuzz: () => Promise<FuzzReport>;
}

/** Makes a target of a name, its cases and what handles them. */
export const defineTarget = <I>(name: string, parts: Omit<FuzzTarget<I>, 'name'>): NamedTarget => ({
  name,
  fuzz: async () => {
    const report = await fuzz({ name, ...parts }, fuzzOptions());
    process.stdout.write(`${describe(report, parts.maxPauseMs ?? MAX_PAUSE_MS)}\n`);
    return report;
  },
});

/** One line: what ran, and how near it came to the limits. */
function describe({ target, cases, refusals, longestPauseMs, growthMiB }: FuzzReport, maxPauseMs: number): string {
  const refused = Object.values(refusals).reduce((sum, count) => sum + count, 0);
  return [
    `fuzz ${target.padEnd(34)} ${String(cases).padStart(7)} cases`,
    `${String(refused).padStart(7)} refused with a code`,
    `longest pause ${longestPauseMs.toFixed(0).padStart(4)} of ${maxPauseMs} ms`,
    `growth ${growthMiB.toFixed(0).padStart(3)} of ${MAX_GROWTH_MIB} MiB`,
  ].join(', ');
}

/**
 * Runs cases until the time is over, or that many have run.
 * @throws Error with target, seed, case and input for what breaks a promise: a crash, a refusal without a code, a pause, growth
 */
export async function fuzz<I>(target: FuzzTarget<I>, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, seconds, only, most = Number.POSITIVE_INFINITY } = options;
  const { maxPauseMs = MAX_PAUSE_MS } = target;
  const refusals: Record<string, number> = {};
  const end = performance.now() + seconds * 1000;
  const growth = new Growth();
  let [cases, longestPauseMs, growthMiB] = [0, 0, 0];
  for (let at = only ?? 0; only === undefined ? at < WARM_UP || (at < most && performance.now() < end) : at === only; at++) {
    const input = target.make(new RandomValues(seed, `${target.name} ${at}`));
    const refuse = (problem: string) =>
      new Error(
        `${target.name}: ${problem}\nsee it again with: npm run fuzz -- --seed ${seed} --target ${JSON.stringify(target.name)} --case ${at}\ninput: ${show(input)}`,
      );
    const outcome = await runCase(target, input);
    if (outcome.crash !== undefined) throw refuse(`crashed: ${outcome.crash}`);
    if (outcome.code !== undefined) refusals[outcome.code] = (refusals[outcome.code] ?? 0) + 1;
    if (outcome.pauseMs > maxPauseMs) throw refuse(`kept the event loop for ${Math.round(outcome.pauseMs)} ms of CPU time`);
    if (at >= WARM_UP) longestPauseMs = Math.max(longestPauseMs, outcome.pauseMs);
    if (++cases === WARM_UP) growth.begin();
    if (cases <= WARM_UP) continue;
    const seen = growth.look();
    const grown = seen <= MAX_GROWTH_MIB ? seen : await growthOf(target, input, growth);
    growthMiB = Math.max(growthMiB, grown);
    if (grown > MAX_GROWTH_MIB) throw refuse(`the process grew by ${Math.round(grown)} MiB`);
  }
  return { target: target.name, cases, refusals, longestPauseMs, growthMiB };
}

/** MiB that stay without garbage, or that the case alone takes, whichever is more: garbage of many cases is no growth. */
async function growthOf<I>(target: FuzzTarget<I>, input: I, growth: Growth): Promise<number> {
  const kept = growth.collect();
  await runOnce(target, input);
  return Math.max(kept, growth.look());
}

interface Outcome {
  readonly pauseMs: number;
  readonly code?: string;
  readonly crash?: string;
}

/** Runs of a case that seems to pause: a neighbour on the same core makes one cost twice as much for a while. */
const TRIES = 8;

/** One that seems to pause is run again: what counts is what it takes when nothing has to be compiled or collected. */
async function runCase<I>(target: FuzzTarget<I>, input: I): Promise<Outcome> {
  let outcome = await runOnce(target, input);
  for (let again = 1; again < TRIES && outcome.pauseMs > (target.maxPauseMs ?? MAX_PAUSE_MS); again++) {
    const next = await runOnce(target, input);
    if (next.pauseMs < outcome.pauseMs) outcome = next;
  }
  return outcome;
}

async function runOnce<I>({ run }: FuzzTarget<I>, input: I): Promise<Outcome> {
  const { pauseMs, error, failed } = await measure(() => run(input));
  if (!failed) return { pauseMs };
  if (error instanceof FlotillaError && /^FLOTILLA_[A-Z0-9_]+$/.test(error.code) && error.message !== '')
    return { pauseMs, code: error.code };
  return { pauseMs, crash: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** Enough of an input to know it; the case's number gives it whole. */
function show(input: unknown): string {
  const text = JSON.stringify(input, (_, value: unknown) => {
    if (
      typeof value === 'object' &&
      value !== null &&
      'type' in value &&
      value.type === 'Buffer' &&
      'data' in value &&
      Array.isArray(value.data)
    )
      return `base64:${Buffer.from(value.data).toString('base64')}`;
    return value;
  });
  return text.length > 4_000 ? `${text.slice(0, 4_000)}… (${text.length} characters)` : text;
}
