import { Label } from '@flotilla/api';
import { ManagedCluster, Placement, PlacementBinding, PlacementDecision, Policy } from '@flotilla/api/ocm';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type PolicyPropagator, registerSpokes, startPolicyPropagator } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hubCrds } from '../fixtures/crds.ts';
import { placePolicy, selectorOf } from '../fixtures/placed-policies.ts';

const clusters = Array.from({ length: 230 }, (_, index) => `cluster-${String(index + 1).padStart(3, '0')}`);
const some = ['cluster-001', 'cluster-002', 'cluster-003'];

let server: ApiServer;
let client: Client;
let propagator: PolicyPropagator;

beforeAll(async () => {
  server = await startApiServer({ crds: hubCrds() });
  client = await server.client();
  await registerSpokes(client, clusters);
  propagator = await startPolicyPropagator({ client, seed: 1, compliance: { seconds: 0.3, jitter: 0 } });
});
afterAll(async () => {
  await propagator?.stop();
  await server?.stop();
});

const root = (name: string) => client.get(Policy, { namespace: 'policies', name });
const child = (name: string, cluster: string) => client.get(Policy, { namespace: cluster, name: `policies.${name}` });
const actionOn = async (name: string, cluster: string) => (await child(name, cluster))?.spec?.remediationAction;

/** The roll-up as `cluster: state`, in the order it is written. */
async function rolledUp(name: string) {
  const { compliant, status } = (await root(name))?.status ?? {};
  return { compliant, clusters: (status ?? []).map((entry) => `${entry.clustername}: ${entry.compliant}`) };
}

const untilRolledUp = async (name: string, want: { compliant: string | undefined; clusters: string[] }) => {
  let last: unknown;
  const ask = async () => {
    last = await rolledUp(name);
    return JSON.stringify(last) === JSON.stringify(want);
  };
  await eventually(ask, () => `${name}: ${JSON.stringify(want)}, rather than ${JSON.stringify(last)},`, 40_000);
};

/** A binding as a rollout makes it, over a Placement of its own. */
async function bind(policy: string, name: string, values: readonly string[] | undefined, fields: Record<string, unknown>): Promise<void> {
  const metadata = { name, namespace: 'policies' };
  const labelSelector = { matchExpressions: [{ key: 'name', operator: 'In', ...(values && { values: [...values] }) }] };
  await client.create(Placement, { metadata, spec: { predicates: [{ requiredClusterSelector: { labelSelector } }] } });
  await client.create(PlacementBinding, {
    metadata,
    placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name },
    subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: policy }],
    ...fields,
  });
}
const restricted = { subFilter: 'restricted', bindingOverrides: { remediationAction: 'enforce' } };
const select = (name: string, values: readonly string[]) =>
  client.patch(
    Placement,
    { namespace: 'policies', name },
    { spec: { predicates: [{ requiredClusterSelector: selectorOf(values) }] } },
    { type: 'merge' },
  );

const conditionsOf = async (name: string) =>
  Object.fromEntries(
    ((await client.get(Placement, { namespace: 'policies', name }))?.status?.conditions ?? []).map(({ type, status, reason }) => [
      type,
      `${status} ${reason}`,
    ]),
  );

test('a policy is copied to the clusters of its binding, informs, and is rolled up', async () => {
  await placePolicy(client, 'plain', { clusters: some, annotations: { 'ran.openshift.io/soak-seconds': '1' } });
  await untilRolledUp('plain', { compliant: 'NonCompliant', clusters: some.map((cluster) => `${cluster}: NonCompliant`) });
  const copy = await child('plain', 'cluster-002');
  expect(copy?.metadata.labels).toEqual({
    [Label.rootPolicy]: 'policies.plain',
    'policy.open-cluster-management.io/cluster-name': 'cluster-002',
    'policy.open-cluster-management.io/cluster-namespace': 'cluster-002',
  });
  expect(copy?.metadata.annotations).toEqual({
    'ran.openshift.io/soak-seconds': '1',
    'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  });
  expect(copy?.spec).toEqual((await root('plain'))?.spec);
  await eventually(async () => (await child('plain', 'cluster-002'))?.status?.compliant === 'NonCompliant');
});

test('a restricted binding never places; what is placed it enforces, until it selects the cluster no more', async () => {
  await placePolicy(client, 'raised', { clusters: some.slice(0, 2) });
  await bind('raised', 'raise', ['cluster-002', 'cluster-003'], restricted);
  await untilRolledUp('raised', { compliant: 'NonCompliant', clusters: ['cluster-001: NonCompliant', 'cluster-002: Compliant'] });
  expect(await actionOn('raised', 'cluster-001')).toBe('inform');
  expect(await actionOn('raised', 'cluster-002')).toBe('enforce');
  expect(await child('raised', 'cluster-003')).toBeUndefined();
  await select('raise', ['cluster-001']);
  await eventually(async () => (await actionOn('raised', 'cluster-001')) === 'enforce');
  await eventually(async () => (await actionOn('raised', 'cluster-002')) === 'inform');
  await untilRolledUp('raised', { compliant: 'Compliant', clusters: ['cluster-001: Compliant', 'cluster-002: Compliant'] });
});

test('an unrestricted binding with the override places and enforces at once', async () => {
  await placePolicy(client, 'at-once', { clusters: some.slice(0, 1) });
  await bind('at-once', 'at-once-enforced', ['cluster-001', 'cluster-002'], { bindingOverrides: { remediationAction: 'Enforce' } });
  await untilRolledUp('at-once', { compliant: 'Compliant', clusters: ['cluster-001: Compliant', 'cluster-002: Compliant'] });
});

test('a Placement whose name is no label value gets no decision and no status', async () => {
  const named = (length: number) => `long-${'x'.repeat(length - 5)}`;
  await placePolicy(client, 'long', { clusters: some });
  await bind('long', named(64), some, restricted);
  await bind('long', named(63), ['cluster-001'], restricted);
  await eventually(async () => (await conditionsOf(named(63))).PlacementSatisfied === 'True AllDecisionsScheduled');
  await eventually(async () => (await actionOn('long', 'cluster-001')) === 'enforce');
  expect(await conditionsOf(named(64))).toEqual({});
  const decisions = (await client.list(PlacementDecision, { namespace: 'policies' })).items.map(({ metadata }) => metadata.name);
  expect(decisions).toContain(`${named(63)}-decision-1`);
  expect(decisions).not.toContain(`${named(64)}-decision-1`);
  expect(await actionOn('long', 'cluster-002')).toBe('inform');
});

test('In without values selects nothing and is misconfigured; a namespace without a binding of a set says so', async () => {
  await placePolicy(client, 'nobody', { clusters: some });
  await bind('nobody', 'empty', undefined, restricted);
  await eventually(async () => (await conditionsOf('empty')).PlacementMisconfigured !== undefined);
  expect(await conditionsOf('empty')).toEqual({
    PlacementSatisfied: 'False NoManagedClusterMatched',
    PlacementMisconfigured: 'True Misconfigured',
  });
  await select('empty', ['cluster-001']);
  await eventually(async () => (await conditionsOf('empty')).PlacementSatisfied === 'True AllDecisionsScheduled');
  propagator.setBound('policies', false);
  await eventually(async () => (await conditionsOf('empty')).PlacementSatisfied === 'False NoManagedClusterSetBindings');
  propagator.setBound('policies', true);
  await eventually(async () => (await conditionsOf('empty')).PlacementSatisfied === 'True AllDecisionsScheduled');
});

test('more than 100 clusters are divided into decisions, in which they stay', async () => {
  const decisions = async () =>
    (await client.list(PlacementDecision, { namespace: 'policies', labelSelector: `${Label.placement}=many` })).items
      .filter(({ status }) => status?.decisions)
      .map(({ metadata, status }) => ({ name: metadata.name, clusters: (status?.decisions ?? []).map(({ clusterName }) => clusterName) }));
  const later = clusters.slice(1);
  await placePolicy(client, 'many', { clusters: later });
  await eventually(async () => (await decisions()).flatMap((each) => each.clusters).length === later.length);
  expect((await decisions()).map(({ name, clusters: { length } }) => `${name}: ${length}`)).toEqual([
    'many-decision-1: 100',
    'many-decision-2: 100',
    'many-decision-3: 29',
  ]);
  const [first] = await decisions();
  // Sorted before all others, and yet it moves none of them.
  await select('many', clusters);
  await eventually(async () => (await decisions()).flatMap((each) => each.clusters).length === clusters.length);
  expect((await decisions())[0]).toEqual(first);
  await untilRolledUp('many', { compliant: 'NonCompliant', clusters: clusters.map((cluster) => `${cluster}: NonCompliant`) });
  await select('many', ['cluster-230']);
  await eventually(async () => (await decisions()).flatMap((each) => each.clusters).length === 1);
  await eventually(async () => (await child('many', 'cluster-001')) === undefined);
  await untilRolledUp('many', { compliant: 'NonCompliant', clusters: ['cluster-230: NonCompliant'] });
});

test('clusters answer as scripted: already, never, late, relapsing, silent; dependencies come first', async () => {
  propagator.script('policies/scripted', 'cluster-010', { already: true });
  propagator.script('policies/scripted', 'cluster-011', { never: true });
  propagator.script('policies/scripted', 'cluster-012', { relapse: { afterSeconds: 0.2 } });
  propagator.script('policies/scripted', 'cluster-013', { silent: true });
  propagator.script('policies/base', 'cluster-012', { already: true });
  const four = ['cluster-010', 'cluster-011', 'cluster-012', 'cluster-013'];
  await placePolicy(client, 'scripted', { clusters: four });
  await placePolicy(client, 'base', { clusters: ['cluster-012', 'cluster-014'] });
  await placePolicy(client, 'dependent', { clusters: ['cluster-012', 'cluster-014'], dependencies: ['base'] });
  await untilRolledUp('scripted', {
    compliant: 'NonCompliant',
    clusters: ['cluster-010: Compliant', 'cluster-011: NonCompliant', 'cluster-012: NonCompliant', 'cluster-013: undefined'],
  });
  await untilRolledUp('dependent', { compliant: 'NonCompliant', clusters: ['cluster-012: NonCompliant', 'cluster-014: Pending'] });
  await bind('scripted', 'scripted-enforced', four, restricted);
  await bind('dependent', 'dependent-enforced', ['cluster-014'], restricted);
  await bind('base', 'base-enforced', ['cluster-014'], restricted);
  const reports = (policy: string, cluster: string) =>
    propagator.events.filter((each) => each.policy === policy && each.cluster === cluster).map(({ what }) => what);
  await eventually(() => reports('policies/scripted', 'cluster-012').length === 4);
  expect(reports('policies/scripted', 'cluster-012')).toEqual(['NonCompliant', 'enforced', 'Compliant', 'NonCompliant']);
  await eventually(() => reports('policies/dependent', 'cluster-014').includes('Compliant'));
  expect(reports('policies/dependent', 'cluster-014')).toEqual(['Pending', 'enforced', 'NonCompliant', 'Compliant']);
  expect(reports('policies/scripted', 'cluster-011')).toEqual(['NonCompliant', 'enforced']);
});

test('a cluster that goes takes its copies along; an edited policy has to be complied with again; a deleted one leaves nothing', async () => {
  await placePolicy(client, 'edited', { clusters: ['cluster-020', 'cluster-021'] });
  await bind('edited', 'edited-enforced', ['cluster-020'], restricted);
  await untilRolledUp('edited', { compliant: 'NonCompliant', clusters: ['cluster-020: Compliant', 'cluster-021: NonCompliant'] });
  await client.delete(ManagedCluster, { name: 'cluster-021' });
  await untilRolledUp('edited', { compliant: 'Compliant', clusters: ['cluster-020: Compliant'] });
  await client.delete(Placement, { namespace: 'policies', name: 'edited-enforced' });
  await eventually(async () => (await actionOn('edited', 'cluster-020')) === 'inform');
  await client.patch(
    Policy,
    { namespace: 'policies', name: 'edited' },
    { spec: { 'policy-templates': [{ objectDefinition: { kind: 'ConfigurationPolicy', metadata: { name: 'other' } } }] } },
    { type: 'merge' },
  );
  await untilRolledUp('edited', { compliant: 'NonCompliant', clusters: ['cluster-020: NonCompliant'] });
  await client.delete(Policy, { namespace: 'policies', name: 'edited' });
  await eventually(async () => (await child('edited', 'cluster-020')) === undefined);
});
