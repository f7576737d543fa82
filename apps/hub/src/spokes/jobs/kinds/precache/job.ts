/** Pre-caching as a job on spokes (spec/talm 3.4 to 3.6). */

import { perObject, type Ref } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import {
  type CacheProof,
  type ClusterGroupUpgrade,
  type NodeRules,
  type PinWay,
  PRECACHE_WORK,
  type PreCachingConfig,
  PrecacheAction,
  type PrecacheState,
  PrecacheView,
  type PrecachingSpec,
  readBandwidth,
  readNodeRules,
  SpokeName,
} from '@flotilla/api/ran';
import {
  type ClusterProof,
  findHold,
  findPause,
  importCounts,
  isImageAllowed,
  ownWorkloadImage,
  type PullerVariables,
  precacheJobMachine,
  proofsOf,
  REPORTS_PER_SECOND,
  readPins,
  readProofWithin,
  type SpokeNode,
  spokeNode,
  waitMessage,
} from '@flotilla/rollout';
import type { CleanedJob } from '../../../leftovers.ts';
import type { SpokeJobNames } from '../../../transports/port/port.ts';
import type { SpokeJob } from '../../kind.ts';
import type { SpokeJobs } from '../../part.ts';
import type { JobProfile, PrecacheSettings } from './inputs.ts';
import { markWithDigest, precacheManifests, specDigest } from './manifests.ts';

/** Inputs of pre-caching from one upgrade. */
export interface PrecacheInputs {
  readonly spec: PrecachingSpec;
  /** Image of the puller; empty when the wanted one is not allowed. */
  readonly image: string;
  readonly profile: JobProfile;
  /** Cap of each puller, from the PreCachingConfig; default none. */
  readonly bandwidth?: ReturnType<typeof readBandwidth>;
  /** Nodes to fill, from the PreCachingConfig; default the one on which the Job runs. */
  readonly nodes?: ReturnType<typeof readNodeRules> | undefined;
  /** Deadline of the Job, in seconds. */
  readonly jobSeconds: number;
  /** Number of tries on demand beyond the first, by cluster. */
  readonly retries?: Readonly<Record<string, number>> | undefined;
  /** Number of times that each cluster was imported again: its job is another machine's. */
  readonly imports?: ReadonlyMap<string, number> | undefined;
  /** Proofs are asked for, so each pull leaves a record. */
  readonly keepsRecord?: boolean | undefined;
  /** Way of pinning pulled images for the upgrade; default none. */
  readonly pins?: PinWay | undefined;
  /** Clusters whose job proves, or restores, what was pulled. */
  readonly proofs?: ReadonlyMap<string, ClusterProof> | undefined;
}
/** Kind of job that pre-caches a spoke. */
export type PrecacheJob = SpokeJob<PrecacheState, PrecacheInputs>;
/** Engine of all pre-caching. */
export type PrecacheJobs = SpokeJobs<PrecacheState, PrecacheInputs>;

const { namespace, job, clusterRoleBinding } = SpokeName;

/** Names of a pre-cache on spoke and hub. */
export const precacheNames: SpokeJobNames = {
  namespace,
  job,
  clusterRoleBinding,
  manifestWork: PRECACHE_WORK,
  actions: {
    deleteNamespace: PrecacheAction.deleteNamespace,
    deleteClusterRoleBinding: PrecacheAction.deleteClusterRoleBinding,
    createJob: PrecacheAction.createJob,
  },
  views: {
    namespace: { name: PrecacheView.namespace, resource: 'namespaces', target: { kind: 'Namespace', name: namespace } },
    job: { name: PrecacheView.job, resource: 'jobs', target: { kind: 'Job', name: job, namespace } },
  },
  nodes: {
    objects: [
      `DaemonSet ${SpokeName.nodes}`,
      ...['ServiceAccount', 'Role', 'RoleBinding'].map((kind) => `${kind} ${SpokeName.nodeAccount}`),
      `RoleBinding ${SpokeName.nodeSccRoleBinding}`,
    ],
    actions: [
      PrecacheAction.createNodes,
      PrecacheAction.createNodeAccount,
      PrecacheAction.createNodeRole,
      PrecacheAction.createNodeRoleBinding,
      PrecacheAction.createNodeSccRoleBinding,
    ],
  },
};

/** Source of PreCachingConfigs. */
interface PrecacheConfigs {
  readonly get: (ref: Ref) => PreCachingConfig | undefined;
}

/** Bytes a second that are handed out to a cluster for an upgrade; undefined without a limit. */
type CapOf = (cluster: string, upgradeUid: string) => number | undefined;

/** Creates the kind of job with the settings of this hub. */
export function createPrecacheJob(
  settings: PrecacheSettings,
  configs: PrecacheConfigs = { get: () => undefined },
  capOf: CapOf = () => undefined,
): PrecacheJob {
  return {
    work: 'precache',
    machine: precacheJobMachine,
    names: precacheNames,
    transport: settings.transport,
    words: {
      work: 'pre-caching',
      doing: 'pre-caching',
      active: 'pulling',
      refusal: 'because it has SecurityContextConstraints and its ManagedCluster neither label vendor=OpenShift nor the claims that say so',
    },
    statesIn: (status) => status?.precaching?.status,
    ...(!settings.talmStrict && { isStopped: (upgrade: ClusterGroupUpgrade) => findPause(upgrade)?.stops === true }),
    inputsIn: (upgrade) => {
      const { spec, retries, proofs } = upgrade.status?.precaching ?? {};
      const config = configOf(upgrade, settings, configs);
      const { profile } = settings;
      const annotations = config?.metadata.annotations;
      const nodes = settings.talmStrict ? undefined : nodeRulesOf(annotations);
      const own = { image: imageOf(config, settings), bandwidth: readBandwidth(annotations), nodes };
      if (!spec || !upgrade.spec) return undefined;
      const jobSeconds = upgrade.spec.remediationStrategy.timeout * 60;
      return {
        spec,
        ...own,
        profile,
        jobSeconds,
        retries,
        imports: settings.talmStrict || !upgrade.status ? undefined : importCounts(upgrade.status),
        keepsRecord: keepsRecord(upgrade, settings),
        pins: pinsWanted(upgrade, settings),
        proofs: proofs && readProofs(proofs),
      };
    },
    workload: (own, { upgradeUid, managed, cluster = '', clusters }) => {
      const { spec, image, bandwidth = {}, nodes, profile } = own;
      const isProof = own.proofs?.get(cluster)?.kind === 'prove';
      const jobSeconds = isProof ? Math.min(own.jobSeconds, PROOF_SECONDS) : own.jobSeconds;
      const node = spokeNode(managed);
      const { caBundle } = settings;
      const pace = String(progressPace(settings.progressViewSeconds, clusters));
      const mode = isProof ? 'prove' : '';
      const pins = profile === 'talm' ? {} : pinVariables(own.pins, upgradeUid, jobSeconds);
      const cap = String(bandwidth.bytesPerSecond ?? '');
      const variables = { PROGRESS_SECONDS: pace, ...settings.variables, BANDWIDTH: cap, MODE: mode, ...pins };
      const asks = node.moreNodes === 'maybe' || (node.moreNodes === 'unlikely' && nodes?.isGiven === true);
      const wanted = asks && profile !== 'talm' ? nodes?.rules : undefined;
      const rules = wanted && isProof ? rulesOfProof(wanted, jobSeconds) : wanted;
      const common = { upgradeUid, spec, image, profile, node, nodes: rules, variables, caBundle };
      // The reference's job and a proof read no such key. A plan writes one cap, whatever is free a moment later.
      let found: { readonly bytesPerSecond: number | undefined } | undefined = profile === 'talm' || isProof ? NO_CAP : undefined;
      const findCap = () => {
        found ??= { bytesPerSecond: capOf(cluster, upgradeUid) };
        return found.bytesPerSecond;
      };
      const inputs = { ...common, deadlineSeconds: jobSeconds, keepsRecord: own.keepsRecord };
      return {
        manifests: () => markWithDigest(precacheManifests({ ...inputs, bytesPerSecond: findCap() }), digestOf(own, cluster)),
        problem: image === '' ? NO_IMAGE : (bandwidth.problem ?? nodes?.problem ?? problemOf(managed, node, settings)),
        findCap,
        deletions: deletionsOf(profile),
        jobViewSeconds: settings.jobViewSeconds,
        failsWithoutNodes: rules?.absent === 'fail',
        pulls: !isProof,
        patienceMs: jobSeconds * 1000 + settings.graceMs,
      };
    },
    digest: digestOf,
  };
}

/** A retry, a proof or the job of another machine is another job of the same spec: what the one before left is another's. */
function digestOf(
  { spec, retries = {}, imports, proofs }: Pick<PrecacheInputs, 'spec' | 'retries' | 'imports' | 'proofs'>,
  cluster = '',
): string {
  const count = Object.hasOwn(retries, cluster) ? retries[cluster] : undefined;
  const proof = proofs?.get(cluster);
  const imported = imports?.get(cluster);
  return `${specDigest(spec)}${count ? `-${count}` : ''}${imported ? `-import-${imported}` : ''}${proof ? `-proof-${proof.number}` : ''}`;
}

/** Deadline of a proof: it asks the runtime alone, some thousand times. */
const PROOF_SECONDS = 15 * 60;

/**
 * Adapts the patience with nodes to a proof, which has its verdict before its deadline. Where absence fails it, the next one follows at once, so a
 * shorter patience would only make more of them.
 */
function rulesOfProof(rules: NodeRules, jobSeconds: number): NodeRules {
  const most = Math.floor((jobSeconds * 2) / 3);
  return { ...rules, patienceSeconds: rules.absent === 'fail' ? most : Math.min(rules.patienceSeconds, most) };
}

/** True where pulls leave a record for proofs. The reference's job knows none. */
const keepsRecord = (upgrade: ClusterGroupUpgrade, { profile, talmStrict = false }: PrecacheSettings): boolean =>
  !talmStrict && profile !== 'talm' && readProofWithin(upgrade).withinMs !== undefined;

const NO_ANNOTATIONS = {};
const readRules = perObject((annotations: Readonly<Record<string, string>>) => readNodeRules(annotations));
/** Every reconcile of every spoke asks for the rules of the same PreCachingConfig. */
const nodeRulesOf = (annotations: Readonly<Record<string, string>> = NO_ANNOTATIONS) => readRules(annotations);

/** Every reconcile of every spoke asks for the same entries. */
const readProofs = perObject((entries: readonly CacheProof[]): ReadonlyMap<string, ClusterProof> => proofsOf(entries));

/**
 * Builds the variables of a puller that pins, or removes pins.
 * @param jobSeconds deadline of its Job, which sets have to have their verdict before
 */
export function pinVariables(pins: PinWay | undefined, upgradeUid: string, jobSeconds: number): PullerVariables {
  if (pins === undefined) return {};
  return { PIN_FOR: upgradeUid, ...(pins === 'pinned-image-set' && { PIN_BY: pins, JOB_SECONDS: String(jobSeconds) }) };
}

/** Returns how what is pulled is pinned; undefined where it is not. The reference's job knows no pins. */
export const pinsWanted = (upgrade: ClusterGroupUpgrade, { profile, talmStrict = false }: PrecacheSettings): PinWay | undefined =>
  talmStrict || profile === 'talm' ? undefined : readPins(upgrade).pins;

/** The reference reads no annotation of the cluster, and its shape of the job takes nothing from them. */
function problemOf(
  managed: ManagedCluster | undefined,
  { problems, unknown }: SpokeNode,
  { profile, talmStrict }: PrecacheSettings,
): string | undefined {
  const held = talmStrict ? undefined : findHold(managed);
  const unusable = profile === 'talm' ? undefined : (problems[0] ?? (talmStrict ? undefined : unknown));
  return held ? waitMessage(held) : unusable;
}

/**
 * Computes the seconds between two reports of a spoke. It grows in doublings, because a job's manifest must not change whenever a cluster leaves the
 * plan.
 */
export function progressPace(shortestSeconds: number, clusters: number): number {
  const wanted = clusters / REPORTS_PER_SECOND / shortestSeconds;
  return shortestSeconds * 2 ** Math.max(0, Math.ceil(Math.log2(wanted)));
}

const NO_CAP = { bytesPerSecond: undefined };
const NO_IMAGE = 'the PreCachingConfig names an image of the puller that the hub does not allow';

/** Returns the upgrade's PreCachingConfig, unless this hub follows the reference, which reads its spec alone. */
function configOf(
  { metadata, spec }: ClusterGroupUpgrade,
  { talmStrict = false }: PrecacheSettings,
  configs: PrecacheConfigs,
): PreCachingConfig | undefined {
  const { name, namespace } = spec?.preCachingConfigRef ?? {};
  return name && !talmStrict ? configs.get({ namespace: namespace || (metadata.namespace ?? ''), name }) : undefined;
}

/** Returns the image of a PreCachingConfig if this hub allows it, else the hub's own. */
function imageOf(config: PreCachingConfig | undefined, { image, imageAllow, talmStrict = false }: PrecacheSettings): string {
  const wanted = ownWorkloadImage(config, talmStrict);
  if (wanted === undefined) return image;
  return isImageAllowed(wanted, imageAllow) ? wanted : '';
}

/** Objects to remove when an upgrade ends or is deleted. */
export const precacheCleaning = (profile: JobProfile): CleanedJob => ({
  work: 'precache',
  names: precacheNames,
  deletions: deletionsOf(profile),
  initial: precacheJobMachine.initial,
  statesIn: (status) => status?.precaching?.status,
});

/** Only the reference's job has a ClusterRoleBinding, which outlives the namespace. */
const deletionsOf = (profile: JobProfile): string[] =>
  profile === 'talm' ? [PrecacheAction.deleteNamespace, PrecacheAction.deleteClusterRoleBinding] : [PrecacheAction.deleteNamespace];
