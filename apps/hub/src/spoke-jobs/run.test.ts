import { isFinalPrecacheState, type PrecacheState } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { SpokeJobRun } from './run.ts';

const job = { work: 'precache', machine: { initial: 'NotStarted', isFinal: isFinalPrecacheState } } as never;
const request = {
  upgrade: { uid: 'uid', namespace: 'ns', name: 'u' },
  clusters: ['failed', 'active', 'new'],
  stored: { failed: 'UnrecoverableError', active: 'Active' } as Record<string, PrecacheState>,
  said: { failed: '401 Unauthorized', active: 'the cluster is not available', new: 'of an earlier try' },
  inputs: {},
};

test('a new leader keeps the words of a verdict that is stored, and no others', () => {
  const run = new SpokeJobRun<PrecacheState, object>({ job, now: () => 0 }, request as never);
  const words = Object.fromEntries([...run.spokes].map(([cluster, { message }]) => [cluster, message]));
  expect(words).toEqual({ failed: '401 Unauthorized', active: undefined, new: undefined });
});
