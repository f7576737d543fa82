import { ClusterOperator } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { findUpgradeRisks, type RiskSources, upgradeableOf } from './risks.ts';

const operator = (name: string, upgradeable?: 'True' | 'False' | 'Unknown', message = `${name} says no`) =>
  ClusterOperator.schema.parse({
    metadata: { name },
    spec: {},
    status: { conditions: upgradeable ? [{ type: 'Upgradeable', status: upgradeable, message }] : [] },
  });
const sources = (more: Partial<RiskSources> = {}): RiskSources => ({
  progressing: { status: 'False' },
  overrides: [],
  pendingDeletions: [],
  version: '4.20.1',
  operators: [],
  ...more,
});
const override = { kind: 'Deployment', group: 'apps', namespace: 'n', name: 'd' };

describe('findUpgradeRisks', () => {
  test.each<{ name: string; given: Partial<RiskSources>; want: string[] }>([
    { name: 'a quiet cluster', given: {}, want: [] },
    {
      name: 'an update under way',
      given: { progressing: { status: 'True' } },
      want: ['ClusterVersionUpdating: An update is already in progress and the details are in the Progressing condition.'],
    },
    {
      name: 'an override that is in force',
      given: { overrides: [{ ...override, unmanaged: true }] },
      want: [
        'ClusterVersionOverrides: Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please remove overrides before requesting a minor or major version update.',
      ],
    },
    { name: 'an override that is not', given: { overrides: [{ ...override, unmanaged: false }] }, want: [] },
    {
      name: 'deletions that are not confirmed',
      given: { pendingDeletions: ['service "b/c"', 'deployment "a/b"'] },
      want: [
        'ResourceDeletionInProgress: Cluster minor or major version upgrades are not allowed while resource deletions are in progress; resources=deployment "a/b",service "b/c"',
      ],
    },
    {
      name: 'a gate of this minor that nobody has opened',
      given: {
        adminGates: { 'ack-4.20-api-removals': 'APIs go away, see https://example.com/removals for more.' },
        adminAcks: { other: 'true' },
      },
      want: ['AdminAck-ack-4.20-api-removals: APIs go away, see https://example.com/removals for more.'],
    },
    { name: 'an open gate', given: { adminGates: { 'ack-4.20-x': 'text' }, adminAcks: { 'ack-4.20-x': 'true' } }, want: [] },
    {
      name: 'a gate acknowledged with another word',
      given: { adminGates: { 'ack-4.20-x': 'text' }, adminAcks: { 'ack-4.20-x': 'yes' } },
      want: ['AdminAck-ack-4.20-x: text'],
    },
    { name: 'gates of other minors', given: { adminGates: { 'ack-4.2-x': 'a', 'ack-4.21-x': 'b' } }, want: [] },
    {
      name: 'gates that cannot be read',
      given: { adminGates: { 'ack-4.20-y': '', 'ack-9.9-z': 'text' } },
      want: [
        'AdminAck-ack-4.20-y: ConfigMap openshift-config-managed/admin-gates has no text for gate ack-4.20-y, which must say what is acknowledged.',
        'AdminAck-ack-9.9-z: ConfigMap openshift-config-managed/admin-gates has key ack-9.9-z, which must match ^ack-([4-5]\\.[0-9]{1,})-[^-].',
      ],
    },
    {
      name: 'operators that say no, and no others',
      given: {
        operators: [operator('etcd', 'False'), operator('dns', 'False'), operator('a', 'True'), operator('b', 'Unknown'), operator('c')],
      },
      want: ['ClusterOperatorUpgradeable-dns: dns says no', 'ClusterOperatorUpgradeable-etcd: etcd says no'],
    },
    {
      name: 'every source in its order',
      given: {
        operators: [operator('dns', 'False')],
        progressing: { status: 'True' },
        adminGates: { 'ack-4.20-x': 'read this' },
      },
      want: [
        'ClusterVersionUpdating: An update is already in progress and the details are in the Progressing condition.',
        'AdminAck-ack-4.20-x: read this',
        'ClusterOperatorUpgradeable-dns: dns says no',
      ],
    },
  ])('$name', ({ given, want }) =>
    expect(findUpgradeRisks(sources(given)).map(({ name, message }) => `${name}: ${message}`)).toEqual(want),
  );

  test('a gate tells where it is described', () => {
    const [risk] = findUpgradeRisks(sources({ adminGates: { 'ack-4.20-x': 'See https://example.com/a and https://example.com/b' } }));
    expect(risk?.url).toBe('https://example.com/a');
  });
});

describe('upgradeableOf', () => {
  const risk = (name: string, message = `${name} is risky`) => ({ name, message });
  test.each([
    { name: 'no risks', risks: [], want: undefined },
    {
      name: 'one risk',
      risks: [risk('ClusterVersionUpdating')],
      want: { type: 'Upgradeable', status: 'False', reason: 'ClusterVersionUpdating', message: 'ClusterVersionUpdating is risky' },
    },
    {
      name: 'one risk with a name that is no reason',
      risks: [risk('ClusterOperatorUpgradeable-dns', 'no')],
      want: { type: 'Upgradeable', status: 'False', reason: 'RiskNameNotCompatibleWithReasonProperty', message: 'no' },
    },
    {
      name: 'several risks',
      risks: [risk('A', 'a'), risk('B', 'b')],
      want: {
        type: 'Upgradeable',
        status: 'False',
        reason: 'MultipleReasons',
        message: 'Cluster should not be upgraded between minor or major versions for multiple reasons:\n* a\n* b',
      },
    },
  ])('$name', ({ risks, want }) => expect(upgradeableOf(risks)).toEqual(want));
});
