import { Annotation } from '@flotilla/api';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { buildPolicy } from '../../testing/policy-builders.ts';
import { policyMode, readSoak } from './standing.ts';

const soaking = (given?: string): Policy => {
  const policy = buildPolicy('p', { compliant: { a: 'Compliant', b: 'NonCompliant', c: 'Pending', d: '' } });
  const annotations = given === undefined ? {} : { [Annotation.soakSeconds]: given };
  return Policy.schema.parse({ ...policy, metadata: { ...policy.metadata, annotations } });
};
const REF = { name: 'p', namespace: 'policies' };
const modeOf = (policy: Policy | undefined) => policyMode([REF], { parent: () => policy, hasCopy: (_, cluster) => cluster === 'f' });

test('a cluster is through with a policy when the roll-up says Compliant; not being in it is no compliance, but nothing to do', () => {
  const mode = modeOf(soaking());
  expect(['a', 'b', 'c', 'd', 'e'].map((cluster) => mode.standing(cluster, 0))).toEqual([
    'done',
    'pending',
    'pending',
    'pending',
    'notMatched',
  ]);
  expect(mode.detail('b', 0)).toEqual({ currentPolicy: { name: 'p', status: 'NonCompliant' } });
});

test('a cluster that has its copy of a policy and is not in the roll-up yet is waited for', () => {
  expect(modeOf(soaking()).standing('f', 0)).toBe('pending');
});

test('a policy that is gone, or has reported nothing, holds its clusters', () => {
  expect(modeOf(undefined).standing('a', 0)).toBe('pending');
  expect(modeOf(buildPolicy('p')).standing('a', 0)).toBe('pending');
});

test.each([
  { given: undefined, seconds: 0, isOdd: false },
  { given: '0', seconds: 0, isOdd: false },
  { given: '30', seconds: 30, isOdd: false },
  { given: '-1', seconds: 0, isOdd: true },
  { given: '1.5', seconds: 0, isOdd: true },
  { given: '', seconds: 0, isOdd: true },
  { given: 'soon', seconds: 0, isOdd: true },
  { given: '99999999999', seconds: 0, isOdd: true },
])('a soak of $given is $seconds s', ({ given, seconds, isOdd }) => {
  const soak = readSoak(soaking(given));
  expect(soak.seconds).toBe(seconds);
  expect(modeOf(soaking(given)).soakSeconds(0)).toBe(seconds);
  if (isOdd)
    for (const part of [Annotation.soakSeconds, 'policies/p', JSON.stringify(given), 'whole number']) expect(soak.problem).toContain(part);
  else expect(soak.problem).toBeUndefined();
});

test('a soak that cannot be read any more holds a compliant cluster and says why; as the reference, it is none', () => {
  const cluster = (name: string) => ManagedCluster.schema.parse({ metadata: { name } });
  const ways = { bindings: () => [], placement: () => undefined, decisions: () => [], cluster, now: 0 };
  const source = (given: string) => ({ parent: () => soaking(given), hasCopy: () => true });
  const mode = policyMode([REF], { ...source('30m'), ways });
  expect(mode.standing('a', 0)).toBe('unseen');
  expect(mode.wait?.('a', 0)).toMatchObject({ cause: 'policy', of: { object: 'Policy policies/p', value: '30m' } });
  expect(mode.standing('b', 0)).toBe('pending');
  expect(policyMode([REF], { ...source('30'), ways }).standing('a', 0)).toBe('done');
  expect(policyMode([REF], source('30m')).standing('a', 0)).toBe('done');
});
