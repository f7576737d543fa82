import type { Condition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { describe, expect, test } from 'vitest';
import { eventsBetween, type ValidationFacts } from './events-between.ts';

type Status = ClusterGroupUpgradeStatus;

const upgrade = buildClusterGroupUpgrade('cgu');
const condition = (type: string, status: Condition['status'], reason: string, message = 'x'): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
/** A status of an upgrade that has been seen before. */
const given = (...conditions: Condition[]): Status => ({
  status: {},
  conditions: [condition(ClusterGroupUpgradeCondition.clustersSelected, 'True', 'ClusterSelectionCompleted'), ...conditions],
});

describe('a refused upgrade', () => {
  const unselected = (message: string): Status => ({
    status: {},
    conditions: [
      condition(ClusterGroupUpgradeCondition.clustersSelected, 'False', 'ClusterNotFound', `Unable to select clusters: ${message}`),
    ],
  });
  const invalid = (message: string) => given(condition(ClusterGroupUpgradeCondition.validated, 'False', 'R', message));
  const unspecified = (message: string) => given(condition(ClusterGroupUpgradeCondition.precacheSpecValid, 'False', 'R', message));
  const prefix = 'cgu.openshift.io/';

  test.each<{ name: string; after: Status; facts?: ValidationFacts; note: string; annotations: Record<string, string> }>([
    {
      name: 'all missing clusters where they are known',
      after: unselected('cluster x is not a ManagedCluster'),
      facts: { missingClusters: ['x', 'y'] },
      note: '(missing clusters): x,y',
      annotations: { [`${prefix}missing-clusters`]: 'x,y', [`${prefix}missing-clusters-count`]: '2' },
    },
    {
      name: 'the missing cluster of the condition otherwise',
      after: unselected('cluster x is not a ManagedCluster'),
      note: '(missing clusters): x',
      annotations: { [`${prefix}missing-clusters`]: 'x', [`${prefix}missing-clusters-count`]: '1' },
    },
    {
      name: 'why no cluster is selected',
      after: unselected('canary cluster x is not in the list of clusters'),
      note: '(cluster selection): Unable to select clusters: canary cluster x is not in the list of clusters',
      annotations: {},
    },
    {
      name: 'missing policies',
      after: invalid('Missing managed policies: [p q] '),
      note: '(missing policies): p,q',
      annotations: { [`${prefix}missing-policies`]: 'p,q' },
    },
    {
      name: 'invalid policies',
      after: invalid('Invalid managed policies: [p] '),
      note: '(invalid policies): p',
      annotations: { [`${prefix}invalid-policies`]: 'p' },
    },
    {
      name: 'invalid policies with why',
      after: invalid('Invalid managed policies: [p q]; p: spec.policy-templates[0] is odd; q: spec is odd'),
      note: '(invalid policies): p,q',
      annotations: { [`${prefix}invalid-policies`]: 'p,q' },
    },
    {
      name: 'ambiguous policies',
      after: invalid('Managed policy name should be unique, but was found in multiple namespaces: {"p":["ns1","ns2"],"q":["ns1","ns3"]} '),
      note: '(ambiguous policies): p,q',
      annotations: { [`${prefix}ambiguous-policies`]: 'p,q' },
    },
    {
      name: 'missing templates',
      after: invalid('Missing manifest templates: [t u]'),
      note: '(missing templates): t,u',
      annotations: { [`${prefix}missing-templates`]: 't,u' },
    },
    {
      name: 'whatever else is wrong',
      after: invalid('Managed Policy p depends on q, which is to be remediated later'),
      note: '(invalid upgrade): Managed Policy p depends on q, which is to be remediated later',
      annotations: {},
    },
    {
      name: 'what pre-caching lacks',
      after: unspecified('Precaching spec is incomplete: no software spec provided'),
      note: '(pre-caching): Precaching spec is incomplete: no software spec provided',
      annotations: {},
    },
  ])('names $name, once', ({ after, facts, note, annotations }) => {
    const events = eventsBetween(given(), after, upgrade, facts);
    expect(events).toMatchObject([
      {
        type: 'Warning',
        reason: 'CguValidationFailure',
        action: 'RemediationOnHoldDueToValidationFailure',
        note: `ClusterGroupUpgrade cgu: validation failure ${note}`,
      },
    ]);
    expect(events[0]?.annotations).toEqual(annotations);
    expect(eventsBetween(after, { ...after }, upgrade, facts)).toEqual([]);
  });

  test('says it again when the message changes', () => {
    const [first, second] = [invalid('Missing managed policies: [p q] '), invalid('Missing managed policies: [p] ')];
    expect(eventsBetween(first, second, upgrade).map(({ note }) => note)).toEqual([
      'ClusterGroupUpgrade cgu: validation failure (missing policies): p',
    ]);
  });

  test('that is mended says nothing', () => {
    expect(eventsBetween(invalid('Missing managed policies: [p] '), given(), upgrade)).toEqual([]);
  });
});
