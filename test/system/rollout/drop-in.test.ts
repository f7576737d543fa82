import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeObject, Label, type Resource } from '@flotilla/api';
import { CustomResourceDefinition } from '@flotilla/api/core';
import {
  ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  Placement,
  PlacementBinding,
  transportCrds,
} from '@flotilla/api/ocm';
import { policyCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AUDIT_IN_ONE_FILE, BEFORE_THE_ANSWER, readAuditLog } from '../../fixtures/audit-log.ts';
import { createReferenceResources, REFERENCE_CRDS, readReferenceCrd, readReferenceObjects } from '../../fixtures/reference-resources.ts';
import { installOperator, playUpgrade } from '../../integration/rollout/operators.ts';
import { COMPLETED, RolloutWorld, spokeNames } from '../../integration/rollout/world.ts';

/** A hub of another operator: its CRDs, its upgrades in every state, and then ours in its place. */
let world: RolloutWorld;
let dir: string;
let crdsBefore: KubeObject[];
let played: Promise<unknown>;
const stop = new AbortController();
/** Every object of these kinds that was ever there, in the order of its creation. */
const seen = new Map<string, KubeObject[]>();

const [platform, site, edge] = [spokeNames(3, 'sno'), spokeNames(4, 'remote'), spokeNames(4, 'edge')];
const RELEASE = `registry.test/ocp/release@sha256:${'a'.repeat(64)}`;
const OPERATORS = ['ptp-operator:stable', 'sriov-network-operator:stable'];
const POLICIES = {
  'ztp-group/du-upgrade-platform-prep': 3,
  'ztp-group/du-upgrade-platform': 3,
  'ztp-group/du-upgrade-operators': 3,
  'ztp-site/site-config': 4,
  'ztp-site/site-stuck': 4,
  'ztp-site/site-release': 4,
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-drop-in-'));
  const upgrades = { group: 'ran.openshift.io', resources: ['clustergroupupgrades/status'] };
  world = await RolloutWorld.start({
    spokes: [...platform, ...site, ...edge],
    withoutHub: true,
    crds: [...(await Promise.all(REFERENCE_CRDS.map(readReferenceCrd))), ...transportCrds(), ...policyCrds()],
    apiServer: {
      auditLogPath: join(dir, 'audit.log'),
      flags: [AUDIT_IN_ONE_FILE],
      auditPolicy: {
        rules: [{ level: 'RequestResponse', verbs: ['patch', 'update'], resources: [upgrades] }, { level: 'None' }],
        omitStages: BEFORE_THE_ANSWER,
      },
    },
    job: { seconds: 1, startupMs: 200 },
    simulated: { work: { seconds: 0.3, jitter: 0 } },
    hubArgs: ['--talm-strict', '--precache-job-profile', 'talm'],
  });
  crdsBefore = await readCrds();
  for (const kind of [ManagedClusterView, ManagedClusterAction, Placement, PlacementBinding, ManifestWork]) record(kind);
  for (const name of platform) await label(name, { 'group-du-sno': '', 'upgrade-candidate': '', maintenance: '' });
  for (const name of ['sno-1', 'sno-2']) await label(name, { wave: 'one' });
  for (const name of site) await label(name, { site: 'remote' });
  for (const name of ['sno-1', 'sno-2']) installOperator(world, name, 'ptp-operator');
  world.propagator.script('ztp-site/site-config', 'remote-1', { already: true });
  world.propagator.script('ztp-site/site-stuck', 'remote-1', { never: true });
  for (const file of ['platform-upgrade', 'operator-upgrade', 'taken-over', 'works']) await createReferenceResources(world.client, file);
  for (const [policy, clusters] of Object.entries(POLICIES)) await world.untilRolledUp(policy, clusters);
  const upgrade = { policy: 'ztp-group/du-upgrade-operators', plan: 'install-ptp18', operators: ['ptp-operator'] };
  played = Promise.all(['sno-1', 'sno-2'].map((cluster) => playUpgrade(world, { cluster, ...upgrade })));
  // The test that needs it asks how it ended.
  played.catch(() => undefined);
  // The Job of a pre-caching that was begun.
  for (const object of await readReferenceObjects('begun-pre-cache')) world.spokes.store('remote-4').set(object);
  await world.startHub();
});
afterAll(async () => {
  stop.abort();
  await world?.stop();
  await played?.catch(() => undefined);
  if (dir) await rm(dir, { recursive: true, force: true });
});

const readCrds = async (): Promise<KubeObject[]> => {
  const found = await Promise.all(
    REFERENCE_CRDS.map((name) => world.client.get(CustomResourceDefinition, { name: `${name}.ran.openshift.io` })),
  );
  return found.filter((crd) => crd !== undefined);
};

const label = (name: string, labels: Record<string, string>) =>
  world.client.patch(ManagedCluster, { name }, { metadata: { labels } }, { type: 'merge' });

function record<T extends KubeObject>(kind: Resource<T>): void {
  const objects: KubeObject[] = [];
  seen.set(kind.kind, objects);
  const cache = new WatchCache(world.client, kind, {});
  cache.subscribe(({ type, object, previous }) => {
    if (type === 'set' && previous?.metadata.uid !== object.metadata.uid) objects.push(object);
  });
  cache.start(stop.signal);
}

/** Names of what was ever there, each once, sorted. */
const namesSeen = (kind: Resource, where: (object: KubeObject) => boolean): string[] =>
  [...new Set((seen.get(kind.kind) ?? []).filter(where).map(({ metadata }) => metadata.name))].toSorted();
const inNamespace = (namespace: string) => (object: KubeObject) => object.metadata.namespace === namespace;
const ofUpgrade = (name: string) => (object: KubeObject) => object.metadata.labels?.[Label.upgradeName] === name;

/** `Type Status Reason: Message` in the order of the status. */
const conditionsOf = async (name: string): Promise<string[]> =>
  ((await world.get(`fleet/${name}`))?.status?.conditions ?? []).map(
    ({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`,
  );

const VALIDATED = [
  'ClustersSelected True ClusterSelectionCompleted: All selected clusters are valid',
  'Validated True ValidationCompleted: Completed validation',
];
const PRECACHED = [
  'PrecacheSpecValid True PrecacheSpecIsWellFormed: Precaching spec is valid and consistent',
  'PrecachingSuceeded True PrecachingCompleted: Precaching is completed for all clusters',
];
const ENDED = [`Progressing False ${COMPLETED}`, `Succeeded True ${COMPLETED}`];

// One story: what its parts do stays done, so none of them can be tried again.
describe('in the place of another operator', { retry: 0 }, () => {
  test('images are pulled before the upgrade is enabled; the next one waits for it, and its time runs', async () => {
    await world.untilCondition('fleet/platform-upgrade', 'Progressing', 'False NotEnabled: Not enabled');
    expect(await conditionsOf('platform-upgrade')).toEqual([...VALIDATED, ...PRECACHED, 'Progressing False NotEnabled: Not enabled']);
    const { status } = (await world.get('fleet/platform-upgrade')) ?? {};
    expect(status?.precaching).toEqual({
      spec: {
        platformImage: RELEASE,
        operatorsPackagesAndChannels: OPERATORS,
        excludePrecachePatterns: ['aws', 'vsphere'],
        spaceRequired: '45',
        additionalImages: [`registry.test/du/tools@sha256:${'b'.repeat(64)}`],
      },
      status: { 'sno-1': 'Succeeded', 'sno-2': 'Succeeded', 'sno-3': 'Succeeded' },
    });
    expect(status?.status).toEqual({});
    const waits = 'False IncompleteBlockingCR: Blocking CRs that are not completed: [platform-upgrade]';
    await world.untilCondition('fleet/operator-upgrade', 'Progressing', waits);
    const waiting = (await world.get('fleet/operator-upgrade'))?.status;
    expect(waiting?.status.startedAt).toBeDefined();
    expect(waiting?.precaching?.spec).toEqual({
      operatorsIndexes: ['registry.test/olm/index:v4.18'],
      operatorsPackagesAndChannels: OPERATORS,
      spaceRequired: '19',
    });
  });

  test('the platform is upgraded, canary first, with the actions of the user', async () => {
    await world.edit('fleet/platform-upgrade', { enable: true });
    await world.untilCompleted('fleet/platform-upgrade');
    expect(await conditionsOf('platform-upgrade')).toEqual([...VALIDATED, ...PRECACHED, ...ENDED]);
    expect(world.history('fleet/platform-upgrade').plan()).toEqual([['sno-1'], ['sno-2', 'sno-3']]);
    expect((await world.recorded('fleet/platform-upgrade')).toSorted()).toEqual(platform.map((name) => `${name}: complete`));
    const names = namesSeen(Placement, ofUpgrade('platform-upgrade'));
    expect(names).toEqual([
      expect.stringMatching(/^platform-upgrade-du-upgrade-platform-placement-[a-z0-9]{5}$/),
      expect.stringMatching(/^platform-upgrade-du-upgrade-platform-prep-placement-[a-z0-9]{5}$/),
    ]);
    expect(namesSeen(PlacementBinding, ofUpgrade('platform-upgrade'))).toEqual(names);
    for (const name of platform) {
      const metadata = (await world.client.get(ManagedCluster, { name }))?.metadata;
      expect(metadata?.labels).toMatchObject({ 'upgrade-4-18': 'done' });
      expect(Object.keys({ ...metadata?.labels, ...metadata?.annotations })).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(maintenance|upgrade-candidate|upgrade\.example\.com\/ticket)$/)]),
      );
    }
  });

  test('then the operators, with the names that the reference gives', async () => {
    await played;
    await world.untilCompleted('fleet/operator-upgrade');
    expect(await conditionsOf('operator-upgrade')).toEqual([...VALIDATED, ...PRECACHED, ...ENDED]);
    const { status } = (await world.get('fleet/operator-upgrade')) ?? {};
    expect(status?.managedPoliciesContent).toEqual({
      'du-upgrade-operators':
        '[{"kind":"Subscription","name":"ptp-operator","apiVersion":"operators.coreos.com/v1alpha1","namespace":"operators"}]',
    });
    expect(status).not.toHaveProperty('placements');
    expect(status).not.toHaveProperty('placementBindings');
    expect(namesSeen(Placement, ofUpgrade('operator-upgrade'))).toEqual(['operator-upgrade-du-upgrade-operators-placement-ops18']);
    const names = world.history('fleet/operator-upgrade').sights.map((sight) => sight.status.safeResourceNames);
    expect(names).toContainEqual({
      'ztp-group/operator-upgrade-du-upgrade-operators-placement': 'operator-upgrade-du-upgrade-operators-placement-ops18',
      '/operator-upgrade-fleet-subscription-ptp-operator': 'operator-upgrade-fleet-subscription-ptp-operator-ops18',
    });
    for (const cluster of ['sno-1', 'sno-2']) {
      expect(namesSeen(ManagedClusterAction, inNamespace(cluster))).toEqual([
        'install-ptp18',
        'precache-crb-create',
        'precache-crb-delete',
        'precache-job-create',
        'precache-ns-create',
        'precache-ns-delete',
        'precache-sa-create',
        'precache-spec-cm-create',
      ]);
      expect(namesSeen(ManagedClusterView, inNamespace(cluster))).toEqual([
        'install-ptp18',
        'operator-upgrade-fleet-subscription-ptp-operator-ops18',
        'view-precache-job',
        'view-precache-namespace',
      ]);
    }
  });

  test('a rollout that the reference began is gone on with: its objects are adopted, nothing is done twice', async () => {
    await world.untilCompleted('fleet/site-upgrade');
    expect(await conditionsOf('site-upgrade')).toEqual([...VALIDATED, ...ENDED]);
    expect(await world.recorded('fleet/site-upgrade')).toEqual([
      'remote-1: complete',
      expect.stringMatching(/^remote-[23]: complete$/),
      expect.stringMatching(/^remote-[23]: complete$/),
    ]);
    const objects = ['Placement', 'PlacementBinding'].map((kind) => (seen.get(kind) ?? []).filter(ofUpgrade('site-upgrade')));
    expect(objects.map((each) => each.map(({ metadata }) => metadata.name))).toEqual([
      ['site-upgrade-site-config-placement-q7v2m'],
      ['site-upgrade-site-config-placement-q7v2m'],
    ]);
    const ofSite = () => world.propagator.events.filter((each) => each.policy === 'ztp-site/site-config' && each.cluster === 'remote-2');
    // It was enforced from the beginning: whether the first report or the enforcement was earlier is chance.
    const happened = () => ofSite().flatMap(({ what }) => (what === 'NonCompliant' ? [] : [what]));
    await eventually(() => happened().includes('released'), 'the policy to be released');
    expect(happened()).toEqual(['enforced', 'Compliant', 'released']);
    expect(world.history('fleet/site-upgrade').batchStarts()).toHaveLength(1);
    for (const name of ['remote-2', 'remote-3']) expect(await world.labels(name)).toMatchObject({ 'site-upgrade': 'done' });
    await eventually(async () => (await world.hubObjects('remote-2')).join() === 'nobodys', 'what the reference left to be gone');
  });

  test('its deadlines hold: a batch that began two hours ago ends the upgrade as the user wants', async () => {
    const tooLong = 'False TimedOut: Policy remediation took too long on some clusters';
    await world.untilCondition('fleet/site-abort', 'Succeeded', tooLong);
    await world.untilEnded('fleet/site-abort');
    expect(await conditionsOf('site-abort')).toEqual([...VALIDATED, `Progressing ${tooLong}`, `Succeeded ${tooLong}`]);
    expect((await world.get('fleet/site-abort'))?.status?.clusters).toEqual([
      { name: 'remote-1', state: 'timedout', currentPolicy: { name: 'site-stuck', status: 'NonCompliant' } },
    ]);
  });

  test('pre-caching that the reference began is finished with the spec that was frozen', async () => {
    const done = 'True PrecachingCompleted: Precaching is completed for all clusters';
    await world.untilCondition('fleet/site-precache', 'PrecachingSuceeded', done);
    await world.untilCondition('fleet/site-precache', 'Progressing', 'False NotEnabled: Not enabled');
    expect(await conditionsOf('site-precache')).toEqual([...VALIDATED, ...PRECACHED, 'Progressing False NotEnabled: Not enabled']);
    const { precaching } = (await world.get('fleet/site-precache'))?.status ?? {};
    expect(precaching).toEqual({
      spec: { platformImage: RELEASE, spaceRequired: '35' },
      status: { 'remote-3': 'Succeeded', 'remote-4': 'Succeeded' },
    });
    expect(world.spokes.jobsCreated('remote-3')).toEqual([]);
    expect(world.spokes.jobsCreated('remote-4')).toHaveLength(1);
    await world.untilClean(['remote-3', 'remote-4']);
  });

  test('ManifestWorks of the reference are gone on with, and new ones get its names', async () => {
    const rolledOut = 'Completed: All manifestworks rolled out successfully on all clusters';
    for (const name of ['gateway-upgrade', 'gateway-rest']) {
      await world.untilCondition(`fleet/${name}`, 'Succeeded', `True ${rolledOut}`);
      await world.untilEnded(`fleet/${name}`);
      expect(await conditionsOf(name)).toEqual([...VALIDATED, `Progressing False ${rolledOut}`, `Succeeded True ${rolledOut}`]);
    }
    const works = (cluster: string) => (seen.get('ManifestWork') ?? []).filter(inNamespace(cluster)).map(({ metadata }) => metadata.name);
    expect(works('edge-1')).toEqual([expect.stringMatching(/^fleet\.gateway-[a-z0-9]{5}$/)]);
    expect(works('edge-2')).toEqual(works('edge-1'));
    for (const cluster of ['edge-3', 'edge-4']) expect(works(cluster)).toEqual(['fleet.gateway-h5t9p']);
    const left = async () => (await world.client.list(ManifestWork)).items.map(({ metadata }) => metadata.name);
    await eventually(async () => (await left()).length === 0, 'all works to be gone, those of the reference too');
  });

  test('the events are those of the reference', async () => {
    await eventually(async () => (await world.events('fleet/platform-upgrade')).includes('CguSuccess RemediationCompleted'));
    const times = (count: number, text: string) => Array.from({ length: count }, () => text);
    const own = (await world.events('fleet/platform-upgrade')).filter((text) => !text.startsWith('CguPrecaching'));
    expect(own).toEqual([
      'CguCreated BuildingRemediationPlan',
      ...times(2, 'CguStarted RemediationInBatchStarted'),
      ...times(3, 'CguStarted RemediationInClusterStarted'),
      'CguStarted RemediationStarted',
      'CguSuccess RemediationCompleted',
      ...times(2, 'CguSuccess RemediationInBatchCompleted'),
      ...times(3, 'CguSuccess RemediationInClusterCompleted'),
    ]);
    expect(await world.events('fleet/site-abort')).toEqual(['CguTimedout RemediationInBatchTimeout', 'CguTimedout RemediationTimeout']);
    expect(await world.events('fleet/site-upgrade')).not.toContain('CguCreated BuildingRemediationPlan');
  });

  test('kubectl shows the columns that users know', async () => {
    const tools = await ensureTools(['kubectl']);
    const table = await runCommand(tools.path('kubectl'), ['--kubeconfig', world.server.kubeconfig, '-n', 'fleet', 'get', 'cgu']);
    const rows = table
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s{2,}/));
    expect(rows[0]).toEqual(['NAME', 'AGE', 'STATE', 'DETAILS']);
    expect(Object.fromEntries(rows.slice(1).map(([name, , state, details]) => [name, `${state}: ${details}`]))).toEqual({
      'gateway-rest': 'Completed: All manifestworks rolled out successfully on all clusters',
      'gateway-upgrade': 'Completed: All manifestworks rolled out successfully on all clusters',
      'operator-upgrade': COMPLETED,
      'platform-upgrade': COMPLETED,
      'site-abort': 'TimedOut: Policy remediation took too long on some clusters',
      'site-precache': 'NotEnabled: Not enabled',
      'site-upgrade': COMPLETED,
    });
  });

  test('the CRDs are as they were, and no status is written again and again that they do not keep', async () => {
    expect(await readCrds()).toEqual(crdsBefore);
    await world.hub?.stop();
    const versions = new Map<string, string>();
    const writes = { all: 0, inVain: [] as string[] };
    for await (const { objectRef, responseObject, responseStatus } of readAuditLog(join(dir, 'audit.log'))) {
      if (!objectRef || responseStatus.code !== 200 || objectRef.namespace !== 'fleet') continue;
      const { resourceVersion = '' } = KubeObject.parse(responseObject).metadata;
      if (versions.get(objectRef.name) === resourceVersion) writes.inVain.push(objectRef.name);
      versions.set(objectRef.name, resourceVersion);
      writes.all += 1;
    }
    expect([...versions.keys()].toSorted()).toHaveLength(7);
    // The hub learns from the answer to a first write that these CRDs keep no progress, no messages and no waits; up to four upgrades write at once.
    expect(writes.inVain.length, `of ${writes.all} writes in vain: ${writes.inVain.join()}`).toBeLessThanOrEqual(3 * 4);
    for (const name of versions.keys()) expect(writes.inVain.filter((each) => each === name).length, name).toBeLessThanOrEqual(3);
  });
});
