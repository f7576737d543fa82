import { Annotation, conditionTime, type Ref } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { CLUSTER_AVAILABLE, ManagedCluster, Placement, PlacementBinding, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName } from '@flotilla/api/ran';
import { BUILT_IN_KINDS, type ComplianceScript, registerSpokes } from '@flotilla/control-plane/simulators';
import { isAlreadyExists, isNotFound } from '@flotilla/runtime';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { createAskingTemplate, healOperated, performOnOperator } from './operator-acts.ts';
import {
  type Act,
  type ClusterAct,
  type HubAct,
  type Limits,
  type LimitsAct,
  type PolicyAct,
  skewOf,
  type UpgradeAct,
  type UpgradePart,
} from './story.ts';
import { ROW, spokeName, type World } from './world.ts';

const merge = { type: 'merge' } as const;

const policyName = (upgrade: string, number: number): string => `${upgrade}-p${number}`;
const refOf = (name: string) => ({ namespace: 'default', name });

const templateName = (upgrade: string, number: number): string => `${upgrade}-t${number}`;
const templatesOf = ({ name, works }: UpgradePart): string[] => Array.from({ length: works }, (_, index) => templateName(name, index + 1));

/** Places the policies of an upgrade, and creates its templates. */
export async function placePolicies(world: World, upgrade: UpgradePart): Promise<void> {
  const { name, clusters, policies } = upgrade;
  for (const [index, template] of templatesOf(upgrade).entries())
    if (index === 0 && world.operated?.part.upgrade === name) await createAskingTemplate(world, template, world.operated);
    else await createTemplate(world.user, template);
  for (const [index, { soakSeconds }] of policies.entries())
    await placePolicy(world.user, policyName(name, index + 1), {
      clusters: clusters.map(spokeName),
      ...(soakSeconds > 0 && { annotations: { [Annotation.soakSeconds]: String(soakSeconds) } }),
    });
}

/** Asks for an upgrade. */
export async function createUpgrade(world: World, part: UpgradePart): Promise<void> {
  const { name, clusters, canaries, policies, windowAt, waves } = part;
  const { maxConcurrency, timeoutMinutes: timeout } = part;
  const opens = windowAt === undefined ? undefined : conditionTime(world.scheduler.now() - world.ms + windowAt);
  await world.user.create(ClusterGroupUpgrade, {
    metadata: {
      ...refOf(name),
      annotations: {
        ...(opens !== undefined && { [Annotation.windowStart]: opens }),
        ...(waves && {
          [Annotation.waves]: 'ready',
          [Annotation.waveMin]: String(waves.least),
          [Annotation.wavePatience]: `${waves.patienceMinutes}m`,
        }),
      },
    },
    spec: {
      clusters: clusters.map(spokeName),
      ...(part.works > 0
        ? { manifestWorkTemplates: templatesOf(part) }
        : { managedPolicies: policies.map((_, index) => policyName(name, index + 1)) }),
      remediationStrategy: { maxConcurrency, timeout, canaries: canaries.map(spokeName) },
      enable: part.enable,
      backup: part.backup,
      batchTimeoutAction: part.abort ? 'Abort' : 'Continue',
      ...(part.preCaching && { preCaching: true, preCachingConfigRef: { name: 'config' } }),
      ...(part.after !== undefined && { blockingCRs: [refOf(part.after)] }),
    },
  });
}

/** Does what an act says; an object that is not there any more needs nothing. */
export async function perform(world: World, act: Act): Promise<void> {
  world.note(JSON.stringify(act));
  try {
    await performed(world, act);
  } catch (error) {
    if (!isNotFound(error) && !isAlreadyExists(error)) throw error;
  }
}

async function performed(world: World, act: Act): Promise<unknown> {
  if ('limits' in act) return onLimits[act.what](world, act.limits);
  if ('policy' in act) return onPolicy[act.what](world, act);
  if ('upgrade' in act) return onUpgrade[act.what](world, refOf(act.upgrade));
  if ('cluster' in act) return onCluster[act.what](world, spokeName(act.cluster));
  if ('operator' in act) return world.operated && performOnOperator(world, world.operated, act);
  const [hub = 1] = world.hubs;
  return onHub[act.what](world, hub, act.ms);
}

const annotate = ({ user }: World, ref: Ref, annotations: Record<string, string | null>) =>
  user.patch(ClusterGroupUpgrade, ref, { metadata: { annotations } }, merge);

const onUpgrade: Record<UpgradeAct['what'], (world: World, ref: Ref) => Promise<unknown>> = {
  enable: ({ user }, ref) => user.patch(ClusterGroupUpgrade, ref, { spec: { enable: true } }, merge),
  pause: (world, ref) => annotate(world, ref, { [Annotation.paused]: 'drain' }),
  stop: (world, ref) => annotate(world, ref, { [Annotation.paused]: 'stop' }),
  resume: (world, ref) => annotate(world, ref, { [Annotation.paused]: null, [Annotation.windowStart]: null }),
  'fill batches': (world, ref) =>
    annotate(world, ref, { [Annotation.waves]: 'ready', [Annotation.waveMin]: '1', [Annotation.wavePatience]: '1m' }),
  'have patience': (world, ref) =>
    annotate(world, ref, { [Annotation.waves]: 'ready', [Annotation.waveMin]: '2', [Annotation.wavePatience]: '3m' }),
  'list batches': (world, ref) =>
    annotate(world, ref, { [Annotation.waves]: null, [Annotation.waveMin]: null, [Annotation.wavePatience]: null }),
  delete: ({ user }, ref) => user.delete(ClusterGroupUpgrade, ref),
  retry: (world, ref) => annotate(world, ref, { [Annotation.retryAt]: new Date(world.scheduler.now()).toISOString() }),
  edit: ({ user }, ref) => user.patch(ClusterGroupUpgrade, ref, { spec: { remediationStrategy: { maxConcurrency: 1 } } }, merge),
  restore: (world, ref) => restore(world, ref, true),
  'restore bare': (world, ref) => restore(world, ref, false),
};

/** Between an object that comes back and its status, as a backup's tool has it. */
const STATUS_MS = 1_000;

/** The upgrade is lost with all that a hub stores of it, and comes back under another uid. */
async function restore({ user, scheduler }: World, ref: Ref, hasStatus: boolean): Promise<void> {
  const lost = await user.get(ClusterGroupUpgrade, ref);
  if (!lost || lost.metadata.deletionTimestamp) return;
  const { labels, annotations, finalizers, uid } = lost.metadata;
  await user.patch(ClusterGroupUpgrade, ref, { metadata: { finalizers: null } }, merge);
  await user.delete(ClusterGroupUpgrade, ref, { uid });
  const { metadata } = await user.create(ClusterGroupUpgrade, { metadata: { ...ref, labels, annotations, finalizers }, spec: lost.spec });
  const { status } = lost;
  if (!hasStatus || !status) return;
  scheduler.setTimer(STATUS_MS, () => {
    // The upgrade may have been deleted or lost again meanwhile.
    user
      .patch(ClusterGroupUpgrade, ref, { metadata: { uid: metadata.uid }, status }, { ...merge, subresource: 'status' })
      .catch(() => undefined);
  });
}

/** Hours of a cluster that begin once, so much later. */
const CLOSED_MS = 10 * 60_000;
/** Hours that come again: the first half of each half hour. */
const RECURRING = { [Annotation.windowSchedule]: '*/30 * * * *', [Annotation.windowDuration]: '15m' };
const NO_HOURS = { [Annotation.windowStart]: null, [Annotation.windowSchedule]: null, [Annotation.windowDuration]: null };

const patchCluster = ({ user }: World, name: string, metadata: object) => user.patch(ManagedCluster, { name }, { metadata }, merge);

const onCluster: Record<ClusterAct['what'], (world: World, name: string) => Promise<unknown>> = {
  hold: (world, name) => patchCluster(world, name, { annotations: { [Annotation.hold]: 'story' } }),
  release: (world, name) => patchCluster(world, name, { annotations: { [Annotation.hold]: null } }),
  'close hours': (world, name) =>
    patchCluster(world, name, { annotations: { ...NO_HOURS, [Annotation.windowStart]: conditionTime(world.scheduler.now() + CLOSED_MS) } }),
  'recur hours': (world, name) => patchCluster(world, name, { annotations: { ...NO_HOURS, ...RECURRING } }),
  'open hours': (world, name) => patchCluster(world, name, { annotations: NO_HOURS }),
  async cut(world, name) {
    world.spokes.disconnect(name);
    await setAvailable(world, name, false);
  },
  async join(world, name) {
    world.spokes.reconnect(name);
    await registerSpokes(world.user, [name]);
    await patchCluster(world, name, { labels: { name } });
    await setAvailable(world, name, true);
  },
  async leave(world, name) {
    await patchCluster(world, name, { finalizers: ['cluster.open-cluster-management.io/api-resource-cleanup'] });
    await world.user.delete(ManagedCluster, { name });
    await patchCluster(world, name, { finalizers: null });
  },
  'restart agent': async ({ spokes }, name) => spokes.restartAgent(name),
  unlabel: (world, name) => patchCluster(world, name, { labels: { name: null } }),
  async mislabel(world, name) {
    const [other = name] = world.names.filter((each) => each !== name);
    await patchCluster(world, name, { labels: { name: other } });
  },
  'fail jobs': async ({ spokes }, name) => spokes.setFaults(name, { failJob: 1 }),
  'hold jobs': async ({ spokes }, name) => spokes.setFaults(name, { jobsHeld: true }),
  async 'delete job'({ spokes }, name) {
    const store = spokes.store(name);
    const job = BUILT_IN_KINDS.find(({ kind }) => kind === 'Job');
    for (const { metadata } of job ? store.list(job) : []) if (job) store.remove(job, metadata.namespace, metadata.name);
  },
  'lose images': async ({ spokes }, name) => spokes.setFaults(name, { lost: true }),
  'break server': async ({ spokes }, name) => spokes.setFaults(name, { apiServerDown: true }),
  'free jobs': async ({ spokes }, name) => spokes.setFaults(name, {}),
  'refuse works': async ({ spokes }, name) => spokes.setFaults(name, { failWork: true }),
  'stick works': async ({ spokes }, name) => spokes.setFaults(name, { statusNeverChanges: true }),
  'free works': async ({ spokes }, name) => spokes.setFaults(name, {}),
  never: async (world, name) => script(world, name, { never: true }),
  slow: async (world, name) => script(world, name, { seconds: 600 }),
  silent: async (world, name) => script(world, name, { silent: true }),
  relapse: async (world, name) => script(world, name, { relapse: { afterSeconds: 20, recoverSeconds: 60 } }),
  comply: async (world, name) => script(world, name, {}),
};

function script(world: World, cluster: string, answers: ComplianceScript): void {
  for (const { name, policies } of world.story.upgrades)
    for (const index of policies.keys()) world.propagator.script(`policies/${policyName(name, index + 1)}`, cluster, answers);
}

async function setAvailable(world: World, name: string, available: boolean): Promise<void> {
  const lastTransitionTime = conditionTime(world.scheduler.now());
  const condition = {
    type: CLUSTER_AVAILABLE,
    status: available ? 'True' : 'Unknown',
    reason: 'Story',
    message: 'as told',
    lastTransitionTime,
  };
  await world.user.patch(ManagedCluster, { name }, { status: { conditions: [condition] } }, { ...merge, subresource: 'status' });
}

const refOfPolicy = ({ upgrade, policy }: PolicyAct): Ref => ({ namespace: 'policies', name: policyName(upgrade, policy) });

const onPolicy: Record<PolicyAct['what'], (world: World, act: PolicyAct) => Promise<unknown>> = {
  disable: ({ user }, act) => user.patch(Policy, refOfPolicy(act), { spec: { disabled: true } }, merge),
  unbind: ({ user }, act) => user.delete(PlacementBinding, refOfPolicy(act)),
  'remove policy': ({ user }, act) => user.delete(Policy, refOfPolicy(act)),
  'empty roll-up': ({ user }, act) =>
    user.patch(Policy, refOfPolicy(act), { status: { compliant: 'Compliant', status: [] } }, { ...merge, subresource: 'status' }),
  async 'restore policy'(world, act) {
    const part = world.story.upgrades.find(({ name }) => name === act.upgrade);
    if (part) await restorePolicy(world, part, refOfPolicy(act));
  },
};

async function restorePolicy({ user }: World, part: UpgradePart, ref: Ref): Promise<void> {
  if ((await user.get(Policy, ref)) && (await user.get(PlacementBinding, ref))) {
    await user.patch(Policy, ref, { spec: { disabled: false } }, merge);
    return;
  }
  for (const kind of [PlacementBinding, Policy, Placement]) await user.delete(kind, ref);
  await placePolicy(user, ref.name, { clusters: part.clusters.map(spokeName) });
}

const onHub: Record<HubAct['what'], (world: World, hub: number, ms: number) => Promise<unknown>> = {
  async 'kill hub'(world, hub, ms) {
    world.killHub(hub);
    world.scheduler.setTimer(ms, () => world.startHub(hub));
  },
  'sleep hub': async (world, hub, ms) => world.hub(hub)?.sleep(ms),
  'end watches': async ({ server }) => server.endWatches(),
  async compact({ server }) {
    server.compact();
    server.endWatches();
  },
  async 'skew hub'(world, hub, ms) {
    const process = world.hub(hub);
    if (process) process.skewMs = skewOf(ms);
  },
};

const LIMITS = { namespace: 'default', name: FleetLimitsName.configMap };

/** Writes the ConfigMap of the limits. */
export async function writeLimits({ user }: World, text: string): Promise<void> {
  const data = { [FleetLimitsName.key]: text };
  if (await user.get(ConfigMap, LIMITS)) await user.patch(ConfigMap, LIMITS, { data }, merge);
  else await user.create(ConfigMap, { metadata: LIMITS, data });
}

/** Sets the limits of the fleet. */
export const setLimits = (world: World, { pulling, upgrading, row }: Limits): Promise<void> =>
  writeLimits(world, JSON.stringify({ pulling, upgrading, byLabel: [{ label: ROW, pulling: row, upgrading: row }] }));

const onLimits: Record<LimitsAct['what'], (world: World, limits: Limits) => Promise<unknown>> = {
  'set limits': setLimits,
  'break limits': (world) => writeLimits(world, 'pulling: 0'),
  'drop limits': ({ user }) => user.delete(ConfigMap, LIMITS),
};

/** Takes away whatever keeps an upgrade from its end. */
export async function heal(world: World): Promise<void> {
  const { story, names, operated } = world;
  if (operated) healOperated(operated);
  for (let cluster = 1; cluster <= names.length; cluster += 1)
    for (const what of ['comply', 'free jobs', 'release', 'open hours', 'join'] as const)
      await perform(world, { at: world.ms, what, cluster });
  if (story.limits) await setLimits(world, story.limits);
  for (const upgrade of story.upgrades) {
    for (const policy of upgrade.policies.keys())
      await perform(world, { at: world.ms, what: 'restore policy', upgrade: upgrade.name, policy: policy + 1 });
    for (const what of ['enable', 'resume'] as const) await perform(world, { at: world.ms, what, upgrade: upgrade.name });
  }
}
