import { ManualClock } from '@flotilla/pace/testing';
import { describe, expect, it } from 'vitest';
import { boundedRun } from './reconciler.ts';

const clock = new ManualClock();
const bounds = { key: 'a', timeoutMs: 20, signal: new AbortController().signal, clock };

describe('boundedRun', () => {
  it('ends as the run does, and leaves nothing behind', async () => {
    expect(await boundedRun(async () => 'done', bounds)).toBe('done');
    await expect(boundedRun(() => Promise.reject(new Error('refused')), bounds)).rejects.toThrow('refused');
    expect(clock.pending).toBe(0);
  });

  it('ends a run that takes too long, even one that ignores its signal', async () => {
    const seen = Promise.withResolvers<AbortSignal>();
    const run = boundedRun((signal) => {
      seen.resolve(signal);
      return new Promise(() => {});
    }, bounds);
    const ended = expect(run).rejects.toMatchObject({ code: 'FLOTILLA_STEP_TIMEOUT' });
    await clock.advance(20);
    await ended;
    expect((await seen.promise).reason).toMatchObject({ code: 'FLOTILLA_STEP_TIMEOUT' });
  });

  it('does not start when it is stopped already', async () => {
    let started = false;
    const run = boundedRun(
      async () => {
        started = true;
      },
      { ...bounds, signal: AbortSignal.abort(new Error('closed')) },
    );
    await expect(run).rejects.toThrow('closed');
    expect(started).toBe(false);
  });
});
