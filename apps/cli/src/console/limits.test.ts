import { FlotillaError } from '@flotilla/api';
import type { LimitUse, RateUse } from '@flotilla/api/answers';
import { expect, test } from 'vitest';
import { askLane, laneOf } from './limits.ts';

const use = (value: string | undefined, taken: number, waiting: number, more: Partial<LimitUse> = {}): LimitUse => ({
  activity: 'pulling',
  ...(value !== undefined && { label: 'region', value }),
  most: 4,
  taken,
  waiting,
  holders: [],
  waiters: [],
  ...more,
});
const rate: RateUse = { most: 9_000_000, taken: { certainty: 'exact', value: 3_000_000 }, pullers: [] };
const answer = { configMap: 'flotilla/flotilla-limits', isThere: true, limits: [], rates: [], notes: [] };

test('limits of all clusters come first, then values of labels by how much they hold back', () => {
  const limits = [use('full', 4, 0), use('long-line', 4, 9), use('others-hold-these', 1, 50), use('over', 6, 1), use(undefined, 0, 0)];
  const { rows, more } = laneOf({ ...answer, limits, rates: [rate] }, 5);
  expect(rows.map(({ clusters, may }) => `${clusters}: ${may}`)).toEqual([
    'all: pull a second',
    'all: pre-cache',
    'region=long-line: pre-cache',
    'region=over: pre-cache',
    'region=full: pre-cache',
  ]);
  expect(more).toBe(1);
});

test('a row names three upgrades, and counts the others', () => {
  const shares = Array.from({ length: 5 }, (_, index) => ({ upgrade: `ns/${index}`, clusters: index }));
  const [row] = laneOf({ ...answer, limits: [use('', 4, 5, { holders: shares, waiters: shares.slice(1) })] }, 5).rows;
  expect(row).toMatchObject({ clusters: 'without region', holders: shares.slice(0, 3), moreHolders: 2, moreWaiters: 1 });
});

test('a rate that nobody has reported is no zero', () => {
  const taken = { certainty: 'unknown', why: '1 of 1 clusters that pull have not reported their rate recently' } as const;
  expect(laneOf({ ...answer, rates: [{ ...rate, taken }] }, 5).rows).toMatchObject([{ isRate: true, taken }]);
});

const LIMITS = { metadata: { namespace: 'flotilla', name: 'flotilla-limits' }, data: { 'limits.yaml': 'pulling: 3\n' } };
const unseen = (): never => {
  throw new FlotillaError('FLOTILLA_CONSOLE_UNSEEN', 'ManagedCluster has not been listed yet');
};
const asked = (found: object | undefined, fleet: () => unknown = unseen) =>
  askLane({ client: { get: () => Promise.resolve(found) }, hubNamespace: 'flotilla', sources: { fleet } } as never, { most: 5 });

test('what has not been listed yet is not known, and not zero', async () => {
  expect(await asked(LIMITS)).toEqual({
    rows: [],
    more: 0,
    problem: null,
    unknown: 'ManagedCluster has not been listed yet',
    notes: [],
  });
});

test('where there are no limits nobody looks at the fleet', async () => {
  expect(await asked(undefined)).toMatchObject({ rows: [], unknown: null });
});

test('a ConfigMap that cannot be used says why, and the next step', async () => {
  const { problem, rows } = await asked({ ...LIMITS, data: { 'limits.yaml': 'pulling: 0\n' } });
  expect(problem).toMatch(
    /^ConfigMap flotilla-limits cannot be used: limits\.yaml\.pulling is 0: .*; write whole numbers from 1 .* without any nothing begins$/,
  );
  expect(rows).toEqual([]);
});
