import { ManagedCluster } from '@flotilla/api/ocm';
import type { Change } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { Departures } from './observe.ts';

const cluster = (metadata: object = {}) => ManagedCluster.schema.parse({ metadata: { name: 'a', ...metadata } });
const LEAVING = { deletionTimestamp: '2026-01-01T00:00:00Z' };

/** True when `a` has departed after these changes, the first of which was there at the start. */
function after(first: ManagedCluster | undefined, ...changes: Pick<Change<ManagedCluster>, 'type' | 'object'>[]): boolean {
  const listeners: ((change: Change<ManagedCluster>) => void)[] = [];
  const departures = new Departures({
    list: () => (first ? [first] : []),
    subscribe: (listener) => {
      listeners.push(listener);
      return () => undefined;
    },
  });
  for (const change of changes) for (const listener of listeners) listener({ previous: undefined, ...change } as Change<ManagedCluster>);
  return departures.has('a');
}
const set = (object: ManagedCluster) => ({ type: 'set', object }) as const;
const gone = (object: ManagedCluster) => ({ type: 'deleted', object }) as const;

test.each([
  { name: 'one that was seen leaving has', departed: after(cluster(), set(cluster(LEAVING)), gone(cluster(LEAVING))), want: true },
  { name: 'also when that was seen at the start', departed: after(cluster(LEAVING)), want: true },
  { name: 'one that vanished has not', departed: after(cluster(), gone(cluster())), want: false },
  {
    name: 'but one that was held when it vanished has',
    departed: after(cluster(), gone(cluster({ annotations: { 'flotilla.io/hold': 'x' } }))),
    want: true,
  },
  { name: 'one that is back has not', departed: after(cluster(LEAVING), gone(cluster(LEAVING)), set(cluster())), want: false },
])('$name departed', ({ departed, want }) => expect(departed).toBe(want));
