import { TerminalError, WaitingError } from '@flotilla/api';
import { describe, expect, it, test } from 'vitest';
import { StepTimeoutError } from './errors.ts';
import { type PrecacheStep, queues } from './table.ts';
import { backoffMs, type Run, runOnce } from './worker.ts';

const backoff = { baseMs: 500, maxMs: 60_000 };
const payload: PrecacheStep = {
  upgrade: { namespace: 'default', name: 'upgrade', uid: 'uid-1' },
  cluster: 'spoke',
  known: { state: 'NotStarted', revision: 1, since: 0 },
  clusters: 1,
  inputs: { spec: {}, image: 'puller', profile: 'least-privilege', jobSeconds: 60 },
};
const run = (overrides: Partial<Run<typeof payload, string>>) =>
  runOnce({
    queue: queues.precacheStep,
    payload,
    failures: 0,
    process: async () => 'result',
    signal: new AbortController().signal,
    random: () => 1,
    ...overrides,
  });
const throwing = (error: unknown) => run({ process: () => Promise.reject(error), failures: 2 });

describe('backoffMs', () => {
  test.each([
    { name: 'starts at the base', attempt: 1, random: 1, want: 500 },
    { name: 'doubles', attempt: 4, random: 1, want: 4_000 },
    { name: 'is halved at most by jitter', attempt: 4, random: 0, want: 2_000 },
    { name: 'ends at the longest', attempt: 1_000, random: 1, want: 60_000 },
  ])('$name', ({ attempt, random, want }) => expect(backoffMs(attempt, backoff, () => random)).toBe(want));
});

describe('runOnce', () => {
  it('returns the result', async () => {
    expect(await run({})).toEqual({ kind: 'done', result: 'result' });
  });

  it('tells verdicts, waits and failures apart', async () => {
    const before = Date.now();
    expect(await throwing(new TerminalError('FLOTILLA_TEST', 'bad'))).toMatchObject({ kind: 'terminal', error: { code: 'FLOTILLA_TEST' } });
    const waiting = await throwing(new WaitingError('FLOTILLA_TEST', 'not yet', 5_000));
    expect(waiting).toMatchObject({ kind: 'waiting', retryAt: expect.closeTo(before + 5_000, -3) });
    const failed = await throwing(new Error('refused'));
    expect(failed).toMatchObject({ kind: 'failed', attempt: 3, retryAt: expect.closeTo(before + 2_000, -3) });
  });

  it('ends a run that takes too long, even one that ignores its signal', async () => {
    const queue = { ...queues.precacheStep, runTimeoutMs: 20 };
    let aborted: unknown;
    const outcome = await run({
      queue,
      process: (_, signal) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason;
        });
        return new Promise(() => {});
      },
    });
    expect(outcome).toMatchObject({ kind: 'failed', attempt: 1, error: { code: 'FLOTILLA_STEP_TIMEOUT' } });
    expect(aborted).toBeInstanceOf(StepTimeoutError);
  });

  it('does not start when it is stopped already', async () => {
    let started = false;
    const outcome = await run({
      signal: AbortSignal.abort(new Error('closed')),
      process: async () => {
        started = true;
        return 'result';
      },
    });
    expect(outcome.kind).toBe('failed');
    expect(started).toBe(false);
  });
});
