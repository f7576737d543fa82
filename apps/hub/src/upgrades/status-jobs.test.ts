import type { Condition } from '@flotilla/api';
import type { PrecacheState } from '@flotilla/api/ran';
import type { UpgradePlan } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import { rollUpBackup } from '../spokes/jobs/kinds/backup/report.ts';
import { rollUp } from '../spokes/jobs/status.ts';
import { Conditions } from './status-conditions.ts';
import { describeBackUp, describePrecaching, type PrecachingReport } from './status-jobs.ts';

const now = new Date('2026-01-02T00:00:00Z');
const stored = (type: string, status: 'True' | 'False', reason: string): Condition => ({
  type,
  status,
  reason,
  message: 'm',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
});
/** Conditions of a pass that has read generation 2. */
const secondOf = (before: Condition) => new Conditions([before], { now, talmStrict: false, generation: 2 });
const seen = ({ all: [condition] }: Conditions) => [condition?.status, condition?.observedGeneration];

function reportOf(states: Readonly<Record<string, PrecacheState>>): PrecachingReport {
  const clusters = Object.keys(states);
  const spokes = new Map(Object.entries(states).map(([name, state]) => [name, { state, message: undefined }]));
  return { rollUp: rollUp(clusters, new Map(Object.entries(states))), clusters, spokes, retries: {} };
}

const cached = { a: 'Succeeded', b: 'Succeeded' } as const;
const done = stored('PrecachingSuceeded', 'True', 'PrecachingCompleted');
const pulling = stored('PrecachingSuceeded', 'False', 'InProgress');

test.each<{ name: string; before: Condition; plan: Partial<UpgradePlan>; want: readonly [string, number] }>([
  { name: 'that is valid', before: done, plan: { precaching: { spec: {} } }, want: ['True', 2] },
  { name: 'that names a PreCachingConfig which is not there', before: done, plan: { stopped: 'precacheSpec' }, want: ['True', 1] },
  { name: 'that names a cluster which does not exist', before: done, plan: { stopped: 'selection' }, want: ['True', 1] },
  { name: 'that is refused while the last clusters pull', before: pulling, plan: { stopped: 'validation' }, want: ['True', 1] },
  { name: 'that pre-caches nothing', before: done, plan: {}, want: ['True', 1] },
])('condition PrecachingSuceeded names the generation that was pulled for, beside one $name', ({ before, plan, want }) => {
  const conditions = secondOf(before);
  describePrecaching({ status: {} }, conditions, reportOf(cached), { plan: plan as UpgradePlan, refusal: undefined, talmStrict: false });
  expect(seen(conditions)).toEqual(want);
});

test.each([
  { name: 'of the clusters of this generation names it', isPartial: false, want: ['True', 2] },
  { name: 'of those alone that had begun names the generation before', isPartial: true, want: ['True', 1] },
])('condition BackupSuceeded $name', ({ isPartial, want }) => {
  const conditions = secondOf(stored('BackupSuceeded', 'True', 'BackupCompleted'));
  const spokes = new Map([['a', { state: 'Succeeded' as const, message: undefined }]]);
  const report = { rollUp: rollUpBackup(['a'], new Map([['a', 'Succeeded']])), clusters: ['a'], spokes, isPartial };
  describeBackUp({ status: {} }, conditions, report, { now, talmStrict: false });
  expect(seen(conditions)).toEqual(want);
});
