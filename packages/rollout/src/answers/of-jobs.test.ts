import { Lease } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { NOTHING_OF_CLUSTERS, type Seen, type UpgradeFacts } from './facts.ts';
import { answerStatus } from './status-answer.ts';
import { answerWhy, Inquiry } from './why.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const iso = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1_000).toISOString();
const PULL = { imagesDone: 3, imagesTotal: 15, bytesDone: 1_000_000_000, bytesTotal: 4_000_000_000, bytesPerSecond: 10_000_000 };
const seen = <T>(object: T): Seen<T> => ({ kind: 'read', object });
const fresh = seen(
  Lease.schema.parse({ metadata: { name: 'x' }, spec: { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: iso(1) } }),
);

/** Facts of clusters that pull, each with the time of its last report; undefined: the stored progress has none. */
function pulling(reports: Readonly<Record<string, string | undefined>>): UpgradeFacts {
  const clusters = Object.keys(reports);
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', uid: 'u' },
    spec: { clusters, preCaching: true, remediationStrategy: { maxConcurrency: 1 } },
    status: {
      conditions: [{ type: 'ClustersSelected', status: 'True', reason: 'x', message: '', lastTransitionTime: iso(3_600) }],
      observedGeneration: 1,
      remediationPlan: [clusters],
      precaching: {
        status: Object.fromEntries(clusters.map((name) => [name, 'Active'])),
        progress: Object.fromEntries(Object.entries(reports).map(([name, at]) => [name, { ...PULL, ...(at !== undefined && { at }) }])),
        summary: PULL,
      },
      status: {},
    },
  });
  return {
    ...NOTHING_OF_CLUSTERS,
    upgrade,
    now: NOW,
    hub: fresh,
    cluster: () => ({ kind: 'skipped' }),
    agentLease: () => fresh,
    upgradeAt: () => ({ kind: 'skipped' }),
  };
}

describe('a pull whose cluster and hub are heard of is as sure as its own last report:', () => {
  const whyOf = (at: string | undefined) => {
    const facts = pulling({ a: at });
    return answerWhy(new Inquiry(facts), facts.upgrade, 'a', []);
  };

  test('a report of a moment ago is a forecast', () => {
    const { isCertain, chain, release } = whyOf(iso(20));
    expect([isCertain, chain.at(-1)?.observedAt, release]).toEqual([
      true,
      iso(20),
      { says: 'It ends when the bytes that are left are there.', byItself: true, at: iso(-300) },
    ]);
    expect(chain.at(-1)?.says).toBe('a: pulls: 3 of 15 images, 1.00 GB of 4.00 GB');
  });

  test.each([
    ['an old report', iso(1_200), `a: pulls: 3 of 15 images, 1.00 GB of 4.00 GB; nothing else is reported since ${iso(1_200)}`],
    ['a report without a date', undefined, 'a: pulls: 3 of 15 images, 1.00 GB of 4.00 GB; the report has no date'],
  ])('%s is none, and says where to look', (_, at, says) => {
    const { isCertain, chain, release } = whyOf(at);
    expect([isCertain, chain.at(-1)?.observedAt, chain.at(-1)?.says]).toEqual([false, at, says]);
    expect(release).toEqual({
      says: 'It ends when the bytes that are left are there: see the agent on a, and the pod of Job pre-cache there.',
      byItself: false,
    });
  });
});

test('a report of 5,000 clusters, which comes every 320 s, is not old before the next one', () => {
  const clusters = Array.from({ length: 5_000 }, (_, index) => `c-${index}`);
  const facts = pulling(Object.fromEntries(clusters.map((name, index) => [name, iso(index === 0 ? 1_200 : 400)])));
  const inquiry = new Inquiry(facts);
  const sureOf = (cluster: string) => answerWhy(inquiry, facts.upgrade, cluster, []).isCertain;
  expect([sureOf('c-0'), sureOf('c-1')]).toEqual([false, true]);
});

test('the rate of an upgrade leaves out old reports, and its end is unknown while there are any', () => {
  const fleet = (...times: (string | undefined)[]) =>
    answerStatus(pulling(Object.fromEntries(times.map((at, index) => [`c-${index}`, at])))).cached;
  expect(fleet(iso(20), iso(30))).toMatchObject({
    bytesPerSecond: { certainty: 'exact', value: 20_000_000 },
    secondsLeft: { certainty: 'forecast', value: 150 },
  });
  const why = 'the report of 1 cluster is old or without a date';
  expect(fleet(iso(20), iso(1_200))).toMatchObject({
    bytesPerSecond: { certainty: 'forecast', value: 10_000_000, why },
    secondsLeft: { certainty: 'unknown', why },
  });
  expect(fleet(undefined)).toMatchObject({ bytesPerSecond: { certainty: 'unknown', why }, secondsLeft: { certainty: 'unknown', why } });
});
