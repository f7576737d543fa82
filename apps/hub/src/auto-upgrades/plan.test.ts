import { Annotation } from '@flotilla/api';
import type { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import type { ObservedCluster } from './observe.ts';
import { planCluster } from './plan.ts';

const cluster: ManagedCluster = { metadata: { name: 'spoke-1', uid: 'u1' } };

const policy = (name: string, wave?: string, remediationAction = 'inform'): Policy => ({
  metadata: {
    name: `policies.${name}`,
    namespace: 'spoke-1',
    ...(wave !== undefined && { annotations: { [Annotation.deployWave]: wave } }),
  },
  spec: { remediationAction },
});
const observed = (given: Partial<ObservedCluster> = {}): ObservedCluster => ({
  cluster,
  isAvailable: true,
  isDone: false,
  hasUpgrade: false,
  servesPolicies: true,
  policies: [],
  ...given,
});
const managedPolicies = (...policies: Policy[]) => {
  const plan = planCluster(observed({ policies }));
  return plan.kind === 'create' ? plan.upgrade.spec : plan;
};

describe('a cluster gets an upgrade', () => {
  test('of exactly the shape of the reference', () => {
    expect(planCluster(observed({ policies: [policy('a', '1')] }))).toEqual({
      kind: 'create',
      upgrade: {
        apiVersion: 'ran.openshift.io/v1alpha1',
        kind: 'ClusterGroupUpgrade',
        metadata: {
          name: 'spoke-1',
          namespace: 'ztp-install',
          ownerReferences: [
            {
              apiVersion: 'cluster.open-cluster-management.io/v1',
              kind: 'ManagedCluster',
              name: 'spoke-1',
              uid: 'u1',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        spec: {
          enable: true,
          clusters: ['spoke-1'],
          remediationStrategy: { maxConcurrency: 1 },
          managedPolicies: ['a'],
          actions: {
            beforeEnable: { addClusterLabels: { 'ztp-running': '' } },
            afterCompletion: { addClusterLabels: { 'ztp-done': '' }, removeClusterLabels: ['ztp-running'] },
          },
        },
      },
    });
  });

  test.each<{ name: string; policies: Policy[]; want: string[] }>([
    {
      name: 'in the order of the waves as numbers',
      policies: [policy('a', '10'), policy('b', '9'), policy('c', '-1')],
      want: ['c', 'b', 'a'],
    },
    {
      name: 'in the order of the names within a wave',
      policies: [policy('b', '1'), policy('c', '1'), policy('a', '1')],
      want: ['a', 'b', 'c'],
    },
    { name: 'without policies that have no wave', policies: [policy('a'), policy('b', '1')], want: ['b'] },
    { name: 'without policies that enforce', policies: [policy('a', 'x', 'Enforce'), policy('b', '1')], want: ['b'] },
    { name: 'with a name that holds dots', policies: [policy('a.b.c', '1')], want: ['a.b.c'] },
    { name: 'without any policies', policies: [], want: [] },
  ])('$name', ({ policies, want }) => expect(managedPolicies(...policies)).toMatchObject({ managedPolicies: want }));
});

describe('a cluster gets none', () => {
  test.each<{ name: string; given: Partial<ObservedCluster> }>([
    { name: 'before it is available', given: { isAvailable: false } },
    { name: 'after its first was done', given: { isDone: true } },
    { name: 'while it has one', given: { hasUpgrade: true } },
    { name: 'on a hub without policies', given: { servesPolicies: false } },
  ])('$name', ({ given }) => expect(planCluster(observed(given))).toEqual({ kind: 'nothing' }));

  test('while a policy is placed on it whose copy is not there yet', () => {
    const awaited = { policy: 'policies/a', says: 'its copy is not there yet' };
    expect(planCluster(observed({ policies: [policy('b', '1')], awaited }))).toEqual({ kind: 'wait', for: awaited });
  });

  test.each(['x', '1.5', '', ' 1', '1e3'])('while the wave of a policy is %j', (wave) => {
    expect(managedPolicies(policy('a', '1'), policy('b', wave))).toEqual({ kind: 'refuse', policy: 'policies.b', wave });
  });
});
