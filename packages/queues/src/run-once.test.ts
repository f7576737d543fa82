import { TerminalError, WaitingError } from '@flotilla/api';
import { describe, expect, it } from 'vitest';
import { StepTimeoutError } from './errors.ts';
import { runOnce, type StepHandler } from './run-once.ts';

const run = (handle: StepHandler, signal = new AbortController().signal, runTimeoutMs = 60_000) =>
  runOnce(handle, { kind: 'precache', upgrade: 'uid-1', cluster: 'spoke' }, { runTimeoutMs, signal });

describe('runOnce', () => {
  it('tells ends, verdicts, waits and failures apart', async () => {
    const throwing = (error: unknown) => run(() => Promise.reject(error));
    expect(await run(async () => true)).toEqual({ kind: 'done' });
    expect(await throwing(new TerminalError('FLOTILLA_TEST', 'bad'))).toMatchObject({ kind: 'terminal', error: { code: 'FLOTILLA_TEST' } });
    expect(await throwing(new WaitingError('FLOTILLA_TEST', 'not yet', 5_000))).toMatchObject({ kind: 'waiting' });
    expect(await throwing(new Error('refused'))).toMatchObject({ kind: 'failed', error: { message: 'refused' } });
  });

  it('ends a run that takes too long, even one that ignores its signal', async () => {
    const seen = Promise.withResolvers<AbortSignal>();
    const handle: StepHandler = (_, signal) => {
      seen.resolve(signal);
      return new Promise(() => {});
    };
    expect(await run(handle, undefined, 20)).toMatchObject({ kind: 'failed', error: { code: 'FLOTILLA_STEP_TIMEOUT' } });
    expect((await seen.promise).reason).toBeInstanceOf(StepTimeoutError);
  });

  it('does not start when it is stopped already', async () => {
    let started = false;
    const outcome = await run(
      async () => {
        started = true;
      },
      AbortSignal.abort(new Error('closed')),
    );
    expect([outcome.kind, started]).toEqual(['failed', false]);
  });
});
