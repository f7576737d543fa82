import type { KubeObject } from '@flotilla/api';
import { workLabels } from '@flotilla/rollout';
import type { Change } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { watchSpokes } from './watches.ts';

const createJob = 'create-job';
const job = {
  work: 'precache',
  names: { actions: { createJob } },
  statesIn: ({ states }: { states: Record<string, string> }) => states,
  machine: { isFinal: (state: string) => state === 'Succeeded' },
};

/** Milliseconds after which each key of a change of an action is enqueued, of an upgrade that stores these states of its spokes. */
function delaysOf(states: Record<string, string>, change: Pick<Change<KubeObject>, 'type'>) {
  let tell: (change: Change<KubeObject>) => void = () => undefined;
  const silent = { subscribe: () => () => {}, list: () => [], byIndex: () => [] };
  const subscribe = (listener: typeof tell) => {
    tell = listener;
    return () => {};
  };
  const actions = { ...silent, subscribe };
  const upgrades = { ...silent, byIndex: (_: string, uid: string) => (uid === 'uid' ? [{ status: { states } }] : []) };
  const caches = { upgrades, clusters: silent, views: silent, works: silent, actions };
  const delays: Record<string, number | undefined> = {};
  for (const watched of watchSpokes(job as never, caches as never, () => undefined))
    watched.attach((key, afterMs) => {
      delays[key] = afterMs;
    });
  const labels = workLabels({ namespace: 'ns', name: 'u', uid: 'uid' }, 'precache');
  const object = {
    metadata: { name: createJob, namespace: 'a', labels },
    status: { conditions: [{ type: 'Completed', status: 'True' }] },
  } as unknown as KubeObject;
  tell({ object, ...change } as Change<KubeObject>);
  return delays;
}

const others = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`c-${at}`, 'NotStarted']));

test.each([
  { name: 'a new job, while many begin', states: { a: 'Starting', ...others }, change: { type: 'set' }, ms: 10_000 },
  { name: 'a new job, while few begin', states: { a: 'Starting' }, change: { type: 'set' }, ms: 0 },
  { name: 'an object that goes after the verdict', states: { a: 'Succeeded', ...others }, change: { type: 'deleted' }, ms: 50 },
  {
    name: 'an object that goes before, while many begin',
    states: { a: 'PreparingToStart', ...others },
    change: { type: 'deleted' },
    ms: 0,
  },
] as const)('a spoke is reconciled $ms ms after $name', ({ states, change, ms }) => {
  expect(delaysOf(states, change)).toEqual({ 'uid/a': ms });
});
