import { TerminalError, WaitingError } from '@flotilla/api';
import { expect, test } from 'vitest';
import { type ReconcileResult, startController } from './controller.ts';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { createLogger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { ManualClock } from './testing.ts';
import { WorkQueue } from './work-queue.ts';

function run(reconcile: (attempt: number) => ReconcileResult | undefined) {
  const clock = new ManualClock();
  const metrics = createMetrics({ process: false });
  const queue = new WorkQueue({ name: 'q', clock, random: () => 1, metrics });
  const lines: { level: string; msg: string }[] = [];
  const stop = new AbortController();
  let attempts = 0;
  const controller = startController({
    name: 'c',
    queue,
    metrics,
    signal: stop.signal,
    logger: createLogger({ name: 't', level: 'debug', destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
    reconcile: async () => reconcile(++attempts),
  });
  queue.add('n/a');
  return { clock, queue, lines, stop, controller, metrics, attempts: () => attempts };
}

const throwing = (error: Error) => (): never => {
  throw error;
};

test('a result asks for the next look', async () => {
  const { clock, attempts, lines } = run((attempt) => (attempt === 1 ? { requeueAfterMs: 500 } : {}));
  await clock.advance(499);
  expect(attempts()).toBe(1);
  await clock.advance(1);
  expect(attempts()).toBe(2);
  expect([clock.pending, lines]).toEqual([0, []]);
});

test('a terminal error is logged once and not tried again', async () => {
  const { clock, attempts, lines, metrics } = run(throwing(new TerminalError('FLOTILLA_X', 'wrong')));
  await clock.advance(1_000_000);
  expect(attempts()).toBe(1);
  expect(lines).toMatchObject([{ level: 'error', msg: 'Reconciling failed for good', code: 'FLOTILLA_X', controller: 'c', key: 'n/a' }]);
  expect(await metrics.registry.getSingleMetricAsString('flotilla_reconcile_seconds')).toContain('result="terminal"} 1');
});

test('waiting comes back after its delay and says so once', async () => {
  const { clock, attempts, lines } = run(throwing(new WaitingError('FLOTILLA_W', 'for others', 100)));
  await clock.advance(250);
  expect(attempts()).toBe(3);
  expect(lines.map((line) => line.level)).toEqual(['info', 'debug', 'debug']);
});

test('other errors back off, and a success resets it', async () => {
  const { clock, attempts, lines } = run((attempt) => {
    if (attempt === 3) return { requeueAfterMs: 1_000 };
    throw new Error('boom');
  });
  await clock.advance(200);
  expect(attempts()).toBe(2);
  await clock.advance(400);
  expect(attempts()).toBe(3);
  await clock.advance(1_000 + 200);
  expect(attempts()).toBe(5);
  expect(lines.every((line) => line.level === 'warn')).toBe(true);
});

test('a write conflict is no news', async () => {
  const conflict = new ApiError(RuntimeErrorCode.conflict, 'PUT', { status: 409, reason: 'Conflict', serverMessage: '' });
  const { clock, lines } = run((attempt) => (attempt === 1 ? throwing(conflict)() : undefined));
  await clock.advance(200);
  expect(lines.map((line) => line.level)).toEqual(['debug']);
});

test('a stop ends it', async () => {
  const { stop, controller, queue, clock, attempts } = run(() => ({ requeueAfterMs: 10 }));
  await clock.advance(0);
  stop.abort();
  await controller.stopped;
  queue.add('other');
  await clock.advance(100);
  expect(attempts()).toBe(1);
});
