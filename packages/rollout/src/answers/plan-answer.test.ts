import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { answerPlan } from './plan-answer.ts';
import { estimatePull, type PullFacts } from './pulls.ts';

const NOW = Date.parse('2026-11-25T20:00:00Z');
const spec = ClusterGroupUpgradeSpec.parse({ preCaching: true, remediationStrategy: { maxConcurrency: 1 } });

/** A plan of clusters with these facts, whose window opens in an hour. */
function answer(...facts: Partial<PullFacts>[]) {
  const annotations = { [Annotation.windowStart]: '2026-11-25T21:00:00Z', [Annotation.windowEnd]: '2026-11-25T23:00:00Z' };
  const upgrade = { metadata: { name: 'one', namespace: 'ran', annotations } };
  const pulls = facts.map((more, at) =>
    estimatePull({ cluster: `spoke-${at}`, list: { images: 1, bytes: 1_000 }, source: { kind: 'inspected', nodes: 1 }, ...more }),
  );
  const plan = { batches: [], compliant: [], policies: { forUpgrade: [] }, stopped: 'policyReading' } as never;
  return answerPlan({ observed: { upgrade, managed: [], template: () => undefined }, spec, plan, pulls, now: NOW, notes: [] });
}

const rate = (bytesPerSecond: number) => ({ bytesPerSecond, why: 'the rate that was given' });

test('pulls are held against the time until the window opens', () => {
  const needs = { missingImages: 1, missingBytes: 7_200 };
  const { precache } = answer(
    { needs, rate: rate(2) },
    { needs, rate: rate(1), architecture: 'arm64' },
    { needs, runtime: 'cri-o 1.34.0' },
  );
  expect(precache).toEqual({ seconds: 3_600, inTime: 1, late: 1, unknown: 1 });
});

test('clusters that share a row are held against it by their own rates', () => {
  const needs = { missingImages: 1, missingBytes: 7_200 };
  expect(answer({ needs, rate: rate(2) }, { needs, rate: rate(1) }, { needs }).precache).toMatchObject({ inTime: 1, late: 1, unknown: 1 });
});

test.each([
  ['exact', { needs: { missingImages: 1, missingBytes: 300 } }, { certainty: 'exact', value: 600 }],
  [
    'a forecast',
    { source: { kind: 'reported', by: 'a puller' }, needs: { missingImages: 1, missingBytes: 300 } },
    { certainty: 'forecast', value: 600 },
  ],
  ['at most', { source: { kind: 'unknown', why: 'not looked at' } }, { certainty: 'at-most', value: 1_300 }],
  ['unknown', { list: undefined, source: { kind: 'unknown', why: 'not looked at' } }, { certainty: 'unknown' }],
] as const)('the sum is %s as the least sure cluster is', (_, other, want) => {
  expect(answer({ needs: { missingImages: 1, missingBytes: 300 } }, other).bytes).toMatchObject(want);
});

test('clusters whose own hours have no time in the window are named, ten at most', () => {
  const annotations = { [Annotation.windowStart]: '2026-11-25T21:00:00Z', [Annotation.windowEnd]: '2026-11-25T23:00:00Z' };
  const managed = Array.from({ length: 14 }, (_, at) => {
    const opens = { [Annotation.windowStart]: `2026-11-25T2${at < 2 ? 2 : 3}:30:00Z` };
    return { metadata: { name: `spoke-${at}`, ...(at < 13 && { annotations: opens }) } };
  });
  const batches = [managed.map(({ metadata }) => metadata.name)];
  const plan = { batches, compliant: [], policies: { forUpgrade: [] }, stopped: 'policyReading' } as never;
  const observed = { upgrade: { metadata: { name: 'one', namespace: 'ran', annotations } }, managed, template: () => undefined };
  const { hours, notes } = answerPlan({ observed, spec, plan, pulls: [], now: NOW, notes: [] });
  expect(hours).toEqual({ count: 11, clusters: batches.flat().slice(2, 12) });
  expect(notes).toEqual([]);
});

test('waves say that their batches are those of a list', () => {
  const upgrade = { metadata: { name: 'one', namespace: 'ran', annotations: { [Annotation.waves]: 'ready' } }, spec };
  const plan = { batches: [['a']], compliant: [], policies: { forUpgrade: [] }, stopped: 'policyReading' } as never;
  const { notes } = answerPlan({
    observed: { upgrade, managed: [], template: () => undefined },
    spec,
    plan,
    pulls: [],
    now: NOW,
    notes: [],
  });
  expect(notes).toEqual([expect.stringMatching(/flotilla\.io\/waves.*if all are ready at once/)]);
});
