import { UpgradeConfig } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { NotificationOutbox } from './notification-outbox.ts';
import type { Notification } from './ports.ts';

const upgradeConfig = UpgradeConfig.schema.parse({
  metadata: { name: 'managed-upgrade-config', uid: 'u' },
  spec: { type: 'OSD', upgradeAt: '', PDBForceDrainTimeout: 0, desired: { version: '4.14.12' } },
});
const letter: Notification = { state: 'StateStarted', upgradeConfig, entry: { version: '4.14.12', phase: 'Upgrading' } };

function outbox(answers: (() => Promise<void>)[]) {
  const clock = new ManualClock();
  const seen = { tries: 0, wakes: 0 };
  const notify = () => {
    const answer = answers[Math.min(seen.tries, answers.length - 1)];
    seen.tries += 1;
    return answer ? answer() : Promise.resolve();
  };
  const { signal } = new AbortController();
  const wake = () => {
    seen.wakes += 1;
  };
  return { clock, seen, box: new NotificationOutbox({ notifier: { notify }, clock, signal, wake }) };
}
const refuse = () => Promise.reject(new Error('refused'));

test('tells once', async () => {
  const { box, seen } = outbox([async () => undefined]);
  expect(await box.tell(letter)).toEqual({ isTold: true });
  expect(await box.tell(letter)).toEqual({ isTold: true });
  expect(seen.tries).toBe(1);
});

test('tells each state, and each upgrade, for itself', async () => {
  const { box, seen } = outbox([async () => undefined]);
  await box.tell(letter);
  await box.tell({ ...letter, state: 'StateCompleted' });
  await box.tell({ ...letter, entry: { version: '4.15.1', phase: 'Upgrading' } });
  expect(seen.tries).toBe(3);
});

test('tells another attempt at the same version', async () => {
  const { box, seen } = outbox([async () => undefined]);
  await box.tell(letter);
  await box.tell({ ...letter, entry: { ...letter.entry, startTime: '2026-01-01T00:00:00Z' } });
  expect(seen.tries).toBe(2);
});

test('after an error waits, wakes and tries again, and not before', async () => {
  const { box, clock, seen } = outbox([refuse, async () => undefined]);
  expect(await box.tell(letter)).toEqual({ isTold: false, problem: 'refused' });
  expect(await box.tell(letter)).toEqual({ isTold: false, problem: 'refused' });
  expect(seen).toEqual({ tries: 1, wakes: 0 });
  await clock.advance(2_000);
  expect(seen.wakes).toBe(1);
  expect(await box.tell(letter)).toEqual({ isTold: true });
});

test('does not keep whoever tells waiting for a slow receiver, and wakes when it is told', async () => {
  const answer = Promise.withResolvers<void>();
  const { box, clock, seen } = outbox([() => answer.promise]);
  const told = box.tell(letter);
  await clock.advance(2_000);
  expect(await told).toEqual({ isTold: false });
  await clock.advance(60_000);
  answer.resolve();
  await clock.advance(0);
  expect(seen).toEqual({ tries: 1, wakes: 1 });
  expect(await box.tell(letter)).toEqual({ isTold: true });
});
