import { type Condition, findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, HUB_ACCEPTED, type ManagedCluster } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { decideRegistration } from './plan.ts';

const CREATED = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => CREATED + seconds * 1000;
const time = (seconds: number) => new Date(at(seconds)).toISOString();

interface Given {
  readonly name?: string;
  readonly accepts?: boolean;
  readonly leaseSeconds?: number;
  readonly available?: Condition['status'];
  readonly taints?: readonly unknown[];
}

function cluster({ name = 'spoke-1', accepts = true, leaseSeconds, available, taints }: Given = {}): ManagedCluster {
  const condition = available && { type: CLUSTER_AVAILABLE, status: available, reason: 'Old', message: '', lastTransitionTime: time(0) };
  return {
    metadata: { name, creationTimestamp: time(0) },
    spec: { hubAcceptsClient: accepts, leaseDurationSeconds: leaseSeconds, taints },
    status: { conditions: condition ? [condition] : [] },
  };
}

/** Decides `now` seconds after the creation, with a lease renewed at `renewed`. */
const decide = (given: Given, now: number, renewed?: number) =>
  decideRegistration({
    cluster: cluster(given),
    renewTime: renewed === undefined ? undefined : time(renewed),
    hubNamespace: 'flotilla',
    now: at(now),
  });
const conditionOf = (verdict: ReturnType<typeof decide>, type: string) => {
  const found = findCondition(verdict.conditions, type);
  return found && [found.status, found.reason];
};

describe('the end of a lease', () => {
  test.each<{ name: string; given: Given; renewed?: number; want: number }>([
    { name: 'is five default durations after its renewal', given: {}, renewed: 100, want: 400 },
    { name: 'follows the duration of the cluster', given: { leaseSeconds: 2 }, renewed: 100, want: 110 },
    { name: 'takes the default for a duration of nothing', given: { leaseSeconds: 0 }, renewed: 100, want: 400 },
    { name: 'takes the default for a duration that is none', given: { leaseSeconds: -60 }, renewed: 100, want: 400 },
    { name: 'counts from the creation without a lease', given: {}, want: 300 },
    { name: 'counts from the creation when the lease is of an earlier cluster of that name', given: {}, renewed: -900, want: 300 },
  ])('$name', ({ given, renewed, want }) => {
    expect(decide({ available: 'True', ...given }, want - 1, renewed).leaseEndsAt).toBe(at(want));
    expect(conditionOf(decide({ available: 'True', ...given }, want - 0.001, renewed), CLUSTER_AVAILABLE)?.[0]).toBe('True');
    const ended = decide({ available: 'True', ...given }, want, renewed);
    expect(ended.leaseEndsAt).toBeUndefined();
    expect(conditionOf(ended, CLUSTER_AVAILABLE)).toEqual(['Unknown', 'ManagedClusterLeaseUpdateStopped']);
  });

  test('is said in the words of the reference', () => {
    expect(findCondition(decide({ available: 'True' }, 300).conditions, CLUSTER_AVAILABLE)?.message).toBe(
      'Registration agent stopped updating its lease.',
    );
  });
});

describe('taints of a cluster', () => {
  const UNREACHABLE = 'cluster.open-cluster-management.io/unreachable';
  const UNAVAILABLE = 'cluster.open-cluster-management.io/unavailable';
  const mine = { key: 'example.com/mine', effect: 'NoSelect' };
  const taint = (key: string) => ({ key, effect: 'NoSelect', timeAdded: '2026-01-01T00:00:10Z' });
  test.each<{ name: string; given: Given; want: unknown }>([
    { name: 'nothing before it ever was available', given: {}, want: [taint(UNREACHABLE)] },
    { name: 'nothing while it is not reached', given: { available: 'Unknown' }, want: [taint(UNREACHABLE)] },
    { name: 'nothing while its API server fails', given: { available: 'False' }, want: [taint(UNAVAILABLE)] },
    { name: 'another reason replaces the first', given: { available: 'False', taints: [taint(UNREACHABLE)] }, want: [taint(UNAVAILABLE)] },
    { name: 'everything when it is available', given: { available: 'True', taints: [taint(UNREACHABLE)] }, want: null },
    {
      name: 'nothing, and taints of others stay to the last null',
      given: { available: 'Unknown', taints: [{ key: 'mine', effect: null, value: null }, taint('theirs')] },
      want: [{ key: 'mine', effect: null, value: null }, taint('theirs'), taint(UNREACHABLE)],
    },
    {
      name: 'what its other taints allow when it is available',
      given: { available: 'True', taints: [mine, taint(UNREACHABLE)] },
      want: [mine],
    },
  ])('$name', ({ given, want }) => expect(decide(given, 10, 0).edits).toMatchObject({ spec: { taints: want } }));

  test('a cluster that is labelled and tainted as it should be is left alone', () => {
    const given = cluster({ available: 'True', taints: [mine] });
    given.metadata.labels = { name: 'spoke-1' };
    expect(decideRegistration({ cluster: given, renewTime: time(0), hubNamespace: 'flotilla', now: at(10) }).edits).toBeUndefined();
  });
});

describe('acceptance', () => {
  test('whom the administrator accepts, under the label that placements select by', () => {
    const verdict = decide({ available: 'True' }, 10, 5);
    expect(conditionOf(verdict, HUB_ACCEPTED)).toEqual(['True', 'HubClusterAdminAccepted']);
    expect(conditionOf(verdict, 'ManagedClusterJoined')).toEqual(['True', 'ManagedClusterJoined']);
    expect(verdict).toMatchObject({ isAccepted: true, edits: { metadata: { labels: { name: 'spoke-1' } } } });
  });

  test.each<{ name: string; given: Given; reason: string; says: string }>([
    { name: 'nobody who is not accepted', given: { accepts: false }, reason: 'HubClusterAdminDenied', says: 'spec.hubAcceptsClient' },
    { name: 'nobody whose name is no namespace', given: { name: 'a.b' }, reason: 'Error', says: '"a.b"' },
    { name: "nobody into the system's namespaces", given: { name: 'kube-system' }, reason: 'Error', says: '"kube-system"' },
    { name: "nobody into the hub's own namespace", given: { name: 'flotilla' }, reason: 'Error', says: '"flotilla"' },
    { name: 'nobody into that of the first upgrades', given: { name: 'ztp-install' }, reason: 'Error', says: '"ztp-install"' },
    {
      name: "nobody into the framework's",
      given: { name: 'open-cluster-management-hub' },
      reason: 'Error',
      says: 'open-cluster-management',
    },
  ])('$name, and it says why', ({ given, reason, says }) => {
    const verdict = decide(given, 10);
    expect(verdict).toMatchObject({ isAccepted: false, edits: undefined });
    expect(conditionOf(verdict, HUB_ACCEPTED)).toEqual(['False', reason]);
    expect(findCondition(verdict.conditions, HUB_ACCEPTED)?.message).toContain(says);
  });

  test('a cluster that was never let in is not reported unreachable, one that was is', () => {
    expect(conditionOf(decide({ accepts: false }, 1000), CLUSTER_AVAILABLE)).toBeUndefined();
    expect(conditionOf(decide({ accepts: false, available: 'True' }, 1000), CLUSTER_AVAILABLE)?.[0]).toBe('Unknown');
  });

  test('a denied cluster keeps no text of its agent', () => {
    const given = cluster({ accepts: false, available: 'True' });
    const word = { type: 'ManagedClusterJoined', status: 'True' as const, reason: 'Evil', message: 'evil', lastTransitionTime: time(0) };
    given.status?.conditions?.push(word);
    const verdict = decideRegistration({ cluster: given, renewTime: time(9), hubNamespace: 'flotilla', now: at(10) });
    expect(conditionOf(verdict, CLUSTER_AVAILABLE)).toEqual(['Unknown', 'ManagedClusterLeaseUpdateStopped']);
    expect(conditionOf(verdict, 'ManagedClusterJoined')).toEqual(['True', 'ManagedClusterJoined']);
  });

  test('nothing is written twice', () => {
    const first = decide({ available: 'True' }, 10, 5);
    const next = { ...cluster(), status: { conditions: first.conditions } };
    expect(decideRegistration({ cluster: next, renewTime: time(8), hubNamespace: 'flotilla', now: at(11) }).conditions).toBeUndefined();
  });
});
