import type { ClusterOperatorStatus } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { nextOperatorStatus, type OperatorReport, type ReportedCondition, type ReporterMemory } from './operator-status.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (second: number): string => `${new Date(START + second * 1_000).toISOString().slice(0, 19)}Z`;
const good = (status: ReportedCondition['status']): ReportedCondition => ({ status, reason: 'AsExpected', message: 'All is well' });
const bad = (status: ReportedCondition['status'], message = 'Pods fail'): ReportedCondition => ({ status, reason: 'PodsFail', message });
const healthy = { Available: good('True'), Progressing: good('False'), Degraded: good('False') };
const report = (parts: Partial<OperatorReport> = {}): OperatorReport => ({
  version: '2',
  conditions: healthy,
  operands: [{ name: 'etcd', wanted: '3.6', running: ['3.6', '3.6'] }],
  relatedObjects: [{ group: '', resource: 'namespaces', name: 'a' }],
  ...parts,
});
const told = (status: unknown): ClusterOperatorStatus => JSON.parse(JSON.stringify(status));
const first = (given: OperatorReport, before?: ClusterOperatorStatus) =>
  told(nextOperatorStatus(before, given, { inertia: {}, memory: new Map(), nowMs: START }).status);
const condition = (status: ClusterOperatorStatus, type: string) => status.conditions?.find((one) => one.type === type);
const ofVersion1: ClusterOperatorStatus = {
  versions: [
    { name: 'operator', version: '1' },
    { name: 'etcd', version: '3.5' },
  ],
};

describe('versions', () => {
  test.each<{ name: string; given: Partial<OperatorReport>; before?: ClusterOperatorStatus; want: string }>([
    { name: 'are told when everything runs them', given: {}, before: ofVersion1, want: 'operator=2 etcd=3.6' },
    {
      name: 'stay while operands are mixed',
      given: { operands: [{ name: 'etcd', wanted: '3.6', running: ['3.5', '3.6'] }] },
      before: ofVersion1,
      want: 'operator=1 etcd=3.5',
    },
    {
      name: 'stay for the operator while one of its operands is not there yet; the other is told',
      given: {
        operands: [
          { name: 'etcd', wanted: '3.6', running: ['3.6'] },
          { name: 'api', wanted: '1', running: [] },
        ],
      },
      before: ofVersion1,
      want: 'operator=1 etcd=3.6',
    },
    {
      name: 'stay while Progressing',
      given: { conditions: { ...healthy, Progressing: bad('True') } },
      before: ofVersion1,
      want: 'operator=1 etcd=3.6',
    },
    { name: 'are told without operands', given: { operands: [] }, before: ofVersion1, want: 'operator=2' },
    { name: 'are none before the first roll-out', given: { operands: [{ name: 'etcd', wanted: '3.6', running: [] }] }, want: '' },
  ])('$name', ({ given, before, want }) => {
    const { versions = [] } = first(report(given), before);
    expect(versions.map(({ name, version }) => `${name}=${version}`).join(' ')).toBe(want);
  });
});

test('Available waits for the first roll-out, and for that alone', () => {
  const unfinished = report({ operands: [{ name: 'etcd', wanted: '3.6', running: ['3.5'] }] });
  expect(condition(first(unfinished), 'Available')).toMatchObject({ status: 'False', reason: 'RollingOut' });
  expect(condition(first(unfinished, ofVersion1), 'Available')).toMatchObject({ status: 'True', reason: 'AsExpected' });
  expect(condition(first(report()), 'Available')).toMatchObject({ status: 'True' });
});

describe('a condition', () => {
  /** Reports Degraded at these seconds, and says what is told of it. */
  const play = (steps: readonly (readonly [second: number, given: ReportedCondition])[]) => {
    let status = first(report());
    let memory: ReporterMemory = new Map();
    return steps.map(([second, Degraded]) => {
      const next = nextOperatorStatus(status, report({ conditions: { ...healthy, Degraded } }), {
        inertia: { Degraded: 120_000 },
        memory,
        nowMs: START + second * 1_000,
      });
      ({ memory } = next);
      status = told(next.status);
      const { status: now, message, lastTransitionTime } = condition(status, 'Degraded') ?? {};
      return [now, message, lastTransitionTime, next.afterMs];
    });
  };

  test('becomes bad after its inertia, and good at once', () => {
    expect(
      play([
        [10, bad('True')],
        [100, bad('True', 'More pods fail')],
        [130, bad('True', 'More pods fail')],
        [140, bad('True', 'Few pods fail')],
        [150, good('False')],
      ]),
    ).toEqual([
      ['False', 'All is well', at(0), 120_000],
      ['False', 'All is well', at(0), 30_000],
      ['True', 'More pods fail', at(130), undefined],
      ['True', 'Few pods fail', at(130), undefined],
      ['False', 'All is well', at(150), undefined],
    ]);
  });

  test('that flaps is never told', () => {
    const steps = Array.from({ length: 20 }, (_, index): [number, ReportedCondition] => [
      index * 60,
      index % 2 ? bad('True') : good('False'),
    ]);
    expect(new Set(play(steps).map(([status, , time]) => `${status} ${time}`))).toEqual(new Set([`False ${at(0)}`]));
  });

  test('that nobody has told before is told as it is', () => {
    const status = first(report({ conditions: { ...healthy, Degraded: bad('True') } }));
    expect(condition(status, 'Degraded')).toMatchObject({ status: 'True', lastTransitionTime: at(0) });
  });

  test('of another writer stays, and so does an extension', () => {
    const foreign = { type: 'RecentBackup', status: 'Unknown', reason: 'A', message: 'B', lastTransitionTime: at(-5) } as const;
    const status = first(report(), { ...ofVersion1, conditions: [foreign], extension: { a: 1 } });
    expect(status.conditions?.map(({ type }) => type)).toEqual(['RecentBackup', 'Available', 'Progressing', 'Degraded']);
    expect(status.conditions?.[0]).toEqual(foreign);
    expect(status.extension).toEqual({ a: 1 });
  });
});

test('the same report is the same status, whatever the order of related objects', () => {
  const objects = [
    { group: '', resource: 'namespaces', name: 'b' },
    { group: '', resource: 'namespaces', name: 'a' },
    { group: 'apps', resource: 'deployments', namespace: 'a', name: '' },
  ];
  const before = first(report({ relatedObjects: objects }));
  expect(first(report({ relatedObjects: [...objects.toReversed(), ...objects] }), before)).toEqual(before);
});
