import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { buildClusterGroupUpgrade } from '../../testing/index.ts';
import { ClustersUnderWay } from './clusters-under-way.ts';
import { describeNewcomer, takeBackImported, withImports } from './imported-again.ts';
import { latePulls, newcomers } from './late-clusters.ts';

const AT = '2026-01-01T00:00:00Z';
const RUNNING = [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: AT }];

/** An upgrade whose clusters are known by `uid-<name>`. */
function known(parts: Record<string, unknown>): ClusterGroupUpgrade {
  const upgrade = buildClusterGroupUpgrade({ status: parts });
  const status = upgrade.status ?? expect.fail('no status');
  return { ...upgrade, status: withImports(status, undefined, (cluster) => `uid-${cluster}`) };
}
/** The status after these clusters were imported again. */
function replaced(parts: Record<string, unknown>, ...clusters: readonly string[]): ClusterGroupUpgradeStatus {
  const taken = takeBackImported(known(parts), (cluster) => (clusters.includes(cluster) ? `new-${cluster}` : `uid-${cluster}`));
  return taken.status ?? expect.fail('no status');
}
const batch = (currentBatch: number, progress: object = {}) => ({
  startedAt: AT,
  currentBatch,
  currentBatchStartedAt: AT,
  currentBatchRemediationProgress: progress,
});
const under = (policyIndex: number) => ({ state: 'InProgress', policyIndex });

describe('before the start', () => {
  const parts = {
    remediationPlan: [['a', 'b']],
    precaching: {
      spec: {},
      status: { a: 'Succeeded', b: 'Succeeded' },
      messages: { a: 'said', b: 'said' },
      proofs: [{ number: 1, kind: 'prove', at: AT, clusters: ['a', 'b'] }],
    },
    backup: { status: { a: 'Succeeded', b: 'BackupTimeout' } },
  };

  test('images, proof and backup of the machine before do not count, those of others do', () => {
    expect(replaced(parts, 'b')).toMatchObject({
      precaching: { status: { a: 'Succeeded', b: 'NotStarted' }, messages: { a: 'said' }, proofs: [{ clusters: ['a'] }] },
      backup: { status: { a: 'Succeeded', b: 'PreparingToStart' } },
    });
  });

  test('the status says so until the job has ended', () => {
    const status = replaced(parts, 'b');
    const told = withImports(status, status, () => undefined);
    expect(told.precaching?.messages).toMatchObject({ a: 'said', b: expect.stringContaining('imported again') });
    expect(told.backup?.messages).toEqual({ b: expect.stringContaining('imported again') });
  });

  test('nothing changes while every uid is as it was, nor in a status that an older hub has written', () => {
    const same = known(parts);
    expect(takeBackImported(same, (cluster) => `uid-${cluster}`)).toBe(same);
    const older = buildClusterGroupUpgrade({ status: parts });
    expect(takeBackImported(older, () => 'new')).toBe(older);
  });
});

describe('in a rollout', () => {
  const parts = {
    conditions: RUNNING,
    remediationPlan: [['a'], ['b', 'c', 'd'], ['e']],
    clusters: [
      { name: 'a', state: 'complete' },
      { name: 'c', state: 'complete' },
      { name: 'd', state: 'timedout' },
    ],
    precaching: { spec: {}, status: { a: 'Succeeded', b: 'Succeeded', c: 'Succeeded', d: 'Succeeded', e: 'Succeeded' } },
    status: batch(2, { b: under(2), c: { state: 'Completed' } }),
  };

  test('a member of the batch that runs, or of one to come, pulls again and begins anew; also one that was complete in that batch', () => {
    const status = replaced(parts, 'b', 'c', 'e');
    expect(status.precaching?.status).toEqual({ a: 'Succeeded', b: 'NotStarted', c: 'NotStarted', d: 'Succeeded', e: 'NotStarted' });
    expect(status.clusters?.map(({ name }) => name)).toEqual(['a', 'd']);
    expect(status.status.currentBatchRemediationProgress).toEqual({});
    expect(newcomers(status)).toEqual(['b', 'c', 'e']);
    expect(latePulls(status)).toEqual(['b', 'c', 'e']);
  });

  test('what has ended in an earlier batch, or without success, is history', () => {
    const before = known(parts);
    expect(takeBackImported(before, (cluster) => (['a', 'd'].includes(cluster) ? 'new' : `uid-${cluster}`))).toBe(before);
  });

  test('one of an earlier batch that is enforced again comes last, after its images are pulled', () => {
    const again = { ...parts, clusters: [], status: batch(2, { a: under(3), b: under(1) }) };
    const status = replaced(again, 'a');
    expect(status.status.currentBatchRemediationProgress).toEqual({ b: under(1) });
    expect(status.remediationPlan).toEqual([['a'], ['b', 'c', 'd'], ['e'], ['a']]);
    expect(latePulls(status)).toEqual(['a']);
  });

  test('one of an earlier batch that does not comply any more comes last too: its record is about the machine before', () => {
    const taken = takeBackImported(
      known(parts),
      (cluster) => (['a', 'c'].includes(cluster) ? 'new' : `uid-${cluster}`),
      (cluster) => cluster === 'a',
    );
    const status = taken.status ?? expect.fail('no status');
    expect(status.clusters?.map(({ name }) => name)).toEqual(['d']);
    expect(status.remediationPlan).toEqual([['a'], ['b', 'c', 'd'], ['e'], ['a']]);
    expect(latePulls(status).toSorted()).toEqual(['a', 'c']);
  });

  test('one that complied before the first batch comes last', () => {
    const compliant = {
      conditions: RUNNING,
      remediationPlan: [['a'], ['b']],
      computedMaxConcurrency: 1,
      precaching: { spec: {}, status: { a: 'Succeeded', b: 'Succeeded' } },
      status: { startedAt: AT, currentBatchRemediationProgress: { x: { state: 'Completed' } } },
    };
    const status = replaced(compliant, 'x');
    expect(status.remediationPlan).toEqual([['a'], ['b'], ['x']]);
    expect(status.precaching?.status?.x).toBe('NotStarted');
  });

  test('each import is another one, also in the middle of the pull of the last', () => {
    const first = replaced(parts, 'e');
    const second = takeBackImported({ ...known(parts), status: first }, (cluster) => (cluster === 'e' ? 'third' : `uid-${cluster}`));
    expect(second.status?.clusterUids).not.toBe(first.clusterUids);
    expect(second.status?.precaching?.status?.e).toBe('NotStarted');
  });
});

test('a canary of the batch that runs whose images could not be pulled again ends the upgrade', () => {
  const of = (state: string, canaries: string[]) => {
    const status = known({ remediationPlan: [['a'], ['b']], clusters: [{ name: 'a', state }], status: batch(1) }).status;
    const spec = { remediationStrategy: { canaries, maxConcurrency: 1, timeout: 240 } };
    return new ClustersUnderWay({ spec, status: status ?? expect.fail('no status'), observation: {} as never, now: 0 }).canaryFailure;
  };
  expect(of('failed', ['a'])?.succeeded.message).toContain('Canary cluster a failed');
  expect([of('complete', ['a']), of('failed', ['b'])]).toEqual([undefined, undefined]);
});

describe('a newcomer waits', () => {
  const ready = { isPrepared: true, hasWork: false };
  const pulls = (a: string) => known({ precaching: { status: { a } } }).status ?? expect.fail('no status');

  test.each([
    { name: 'for its images', status: pulls('Active'), facts: ready, want: /its images are pulled before its part begins/ },
    { name: 'for what was placed there', status: pulls('Succeeded'), facts: { ...ready, hasWork: true }, want: /is removed/ },
    { name: 'for its first edits', status: pulls('Succeeded'), facts: { ...ready, isPrepared: false }, want: /its first edits/ },
  ])('$name', ({ status, facts, want }) => expect(describeNewcomer(status, 'a', facts)?.says).toMatch(want));

  test('for nothing else', () => expect(describeNewcomer(pulls('Succeeded'), 'a', ready)).toBeUndefined());
});
