import { findCondition, type KubeObject } from '@flotilla/api';
import { ManifestWork, PlacementDecision, Policy, WORK_AVAILABLE } from '@flotilla/api/ocm';
import { clusterObstacle } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Claims, hearClaims } from '../support/ocm/claims.ts';
import { allOf, gatewayPolicy, gatewayWork, runningVersions, UPGRADES, upgradeOf } from '../support/ocm/gateway.ts';
import { haltControllers, type OcmSpoke, type OcmWorld, startOcmWorld } from '../support/ocm/ocm-world.ts';
import { followRollout, type RolloutEnd } from '../support/rollout-progress.ts';

const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const { signal } = new AbortController();
const CLUSTERS = ['spoke-1', 'spoke-2'];
/** How long a spoke's controllers stay halted after everything else has answered. */
const HALTED_MS = 8_000;

let world: OcmWorld;
let canary: OcmSpoke;
let second: OcmSpoke;

const apply = async (...objects: readonly unknown[]): Promise<void> => {
  for (const object of objects) await world.hub.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(object) });
};

function follow(name: string): Promise<RolloutEnd> {
  const start = performance.now();
  const onNews = (news: string) => console.log(`  ${((performance.now() - start) / 1000).toFixed(1)} s  ${news}`);
  return followRollout(world.hub.client, { namespace: UPGRADES, name }, { onNews, withinMs: 150_000, signal });
}

/** Fails as soon as the world is another than it was; it is looked at all the time. */
async function staysTrue(look: () => Promise<void>): Promise<void> {
  const end = Date.now() + HALTED_MS;
  while (Date.now() < end) {
    await look();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Two watches of one upgrade are not equally quick. */
const everyClaim = (claims: Claims) =>
  eventually(async () => (await claims.all()).length === CLUSTERS.length, 'every cluster to be called done', 20_000);

const worksOf = async ({ name }: OcmSpoke): Promise<ManifestWork[]> =>
  (await world.hub.client.list(ManifestWork, { namespace: name })).items;

/** The value a work reports under a name. */
const feedbackOf = (work: ManifestWork | undefined, name: string): number | bigint | undefined =>
  work?.status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values?.find((each) => each.name === name)?.fieldValue.integer;

const actionOn = async ({ name }: OcmSpoke, policy: string): Promise<string | undefined> =>
  (await world.hub.client.get(Policy, { namespace: name, name: `${UPGRADES}.${policy}` }))?.spec?.remediationAction;

/** Clusters that the placement controller has decided for the Placements of an upgrade. */
async function decidedFor(upgrade: string): Promise<string[]> {
  const { items } = await world.hub.client.list(PlacementDecision, { namespace: UPGRADES });
  const belongs = ({ metadata }: KubeObject) => metadata.name.startsWith(upgrade);
  return items.filter(belongs).flatMap(({ status }) => (status?.decisions ?? []).map(({ clusterName }) => clusterName));
}

describe.skipIf(obstacle !== undefined)('beside the real components of Open Cluster Management', () => {
  beforeAll(async () => {
    const start = performance.now();
    world = await startOcmWorld({ spokes: CLUSTERS.length, say: (line) => console.log(`  ${line}`), signal });
    [canary = expect.fail('no spoke'), second = expect.fail('no second spoke')] = world.spokes;
    console.log(`hub, components and spokes up after ${((performance.now() - start) / 1000).toFixed(1)} s`);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test('every component is healthy by its own word', async () => {
    expect(world.fleet.components.map(({ name }) => name).toSorted()).toEqual([
      'config-policy-controller-spoke-1',
      'config-policy-controller-spoke-2',
      'placement-controller',
      'policy-propagator',
      'work-agent-spoke-1',
      'work-agent-spoke-2',
    ]);
    expect(await Promise.all(world.fleet.components.map((component) => component.isHealthy()))).not.toContain(false);
  });

  test('by ManifestWorks: the canary is done when its pods are new, not when the agent reports the old ones', async () => {
    await using claims = hearClaims(world, 'by-works');
    await apply(gatewayWork('gateway-2', '2'));
    const release = await haltControllers(canary);
    try {
      await apply(upgradeOf('by-works', CLUSTERS, { manifestWorkTemplates: ['gateway-2'] }));
      // The agent has applied the new version, and says under its generation how the old one is.
      await eventually(
        async () => {
          const [work] = await worksOf(canary);
          const available = findCondition(work?.status?.conditions, WORK_AVAILABLE);
          return available?.status === 'True' && feedbackOf(work, 'AvailableReplicas') === 2;
        },
        'the work agent to report',
        60_000,
      );
      await staysTrue(async () => {
        expect(await runningVersions(canary.client)).toEqual(allOf('1'));
        expect(await claims.all()).toEqual([]);
        expect(await worksOf(second)).toEqual([]);
      });
    } finally {
      await release();
    }
    expect(await follow('by-works')).toMatchObject({ succeeded: true, clusters: { 'spoke-1': 'complete', 'spoke-2': 'complete' } });
    await everyClaim(claims);
    expect(await claims.all()).toEqual(CLUSTERS.map((cluster) => ({ cluster, versions: allOf('2') })));
    // Orphaned: what was rolled out stays when the works are taken away.
    for (const spoke of world.spokes) {
      await eventually(async () => (await worksOf(spoke)).length === 0, 'the works to be gone', 60_000);
      expect(await runningVersions(spoke.client)).toEqual(allOf('2'));
    }
  });

  test('by policies: one cluster is decided and enforced after the other, each when the pods before are new', async () => {
    const policy = 'gateway-3';
    await using claims = hearClaims(world, 'by-policies');
    await apply(...gatewayPolicy(policy, '3', { replaces: '2', clusters: CLUSTERS }));
    const rolledUp = async () => (await world.hub.client.get(Policy, { namespace: UPGRADES, name: policy }))?.status?.status ?? [];
    await eventually(
      async () => (await rolledUp()).filter(({ compliant }) => compliant === 'NonCompliant').length === CLUSTERS.length,
      'both clusters to report that they do not comply',
      90_000,
    );
    const release = await haltControllers(canary);
    try {
      await apply(upgradeOf('by-policies', CLUSTERS, { managedPolicies: [policy] }));
      const version = 'jsonpath={.spec.template.metadata.labels.version}';
      const specified = () => canary.kubectl(['-n', 'edge', 'get', 'deployment', 'gateway', '-o', version]);
      await eventually(async () => (await specified()) === '3', 'the policy to be enforced on the canary', 90_000);
      await staysTrue(async () => {
        expect(await runningVersions(canary.client)).toEqual(allOf('2'));
        expect(await claims.all()).toEqual([]);
        expect(await decidedFor('by-policies')).toEqual(['spoke-1']);
        expect([await actionOn(canary, policy), await actionOn(second, policy)]).toEqual(['enforce', 'inform']);
      });
    } finally {
      await release();
    }
    expect(await follow('by-policies')).toMatchObject({ succeeded: true, clusters: { 'spoke-1': 'complete', 'spoke-2': 'complete' } });
    await everyClaim(claims);
    expect(await claims.all()).toEqual(CLUSTERS.map((cluster) => ({ cluster, versions: allOf('3') })));
    // Nothing is enforced any more.
    await eventually(async () => (await decidedFor('by-policies')).length === 0, 'no cluster to be decided', 60_000);
    for (const spoke of world.spokes)
      await eventually(async () => (await actionOn(spoke, policy)) === 'inform', 'the policy to inform', 60_000);
  });
});
