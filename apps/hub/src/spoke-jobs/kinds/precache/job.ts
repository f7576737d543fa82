/** Pre-caching as a job on spokes (spec/talm 3.4 to 3.6). */

import type { Ref } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import {
  type ClusterGroupUpgrade,
  PRECACHE_WORK,
  type PreCachingConfig,
  PrecacheAction,
  PrecacheState,
  PrecacheView,
  type PrecachingSpec,
  SpokeName,
} from '@flotilla/api/ran';
import { findHold, isImageAllowed, precacheJobMachine } from '@flotilla/rollout';
import type { SpokeJobNames } from '../../../spokes/port/workload.ts';
import type { SpokeJob } from '../../kind.ts';
import type { SpokeJobs } from '../../reconciler.ts';
import type { SpokeJobRun } from '../../run.ts';
import type { TeardownJob } from '../../teardown.ts';
import { precacheManifests } from './manifests.ts';
import type { PrecacheSettings } from './settings.ts';
import { markWithDigest, specDigest } from './spec-digest.ts';
import { type SpokeNode, spokeNode } from './spoke-node.ts';
import type { JobProfile } from './workload-inputs.ts';

/** What one upgrade wants pre-cached, and how. */
export interface PrecacheInputs {
  readonly spec: PrecachingSpec;
  /** Image of the puller; empty when the one that is wanted may not be used. */
  readonly image: string;
  readonly profile: JobProfile;
  /** Seconds the job may run. */
  readonly jobSeconds: number;
}
/** Pre-caching a spoke, as a kind of job. */
export type PrecacheJob = SpokeJob<PrecacheState, PrecacheInputs>;
/** Runs pre-caching and remembers its states. */
export type PrecacheJobs = SpokeJobs<PrecacheState, PrecacheInputs>;
/** Pre-caching of one upgrade, as its engine remembers it. */
export type PrecacheRun = SpokeJobRun<PrecacheState, PrecacheInputs>;

/**
 * Work nearest the pull goes first: a spoke that can get its job now, then one that can begin. A spoke that has its job needs the
 * hub for nothing but being watched, and cleaning up has all the time there is.
 */
const priorities: Record<PrecacheState, number> = {
  PreparingToStart: 1,
  NotStarted: 2,
  Starting: 3,
  Active: 4,
  Succeeded: 5,
  PrecacheTimeout: 5,
  UnrecoverableError: 5,
};

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
};

/** Where PreCachingConfigs are found. */
interface PrecacheConfigs {
  readonly get: (ref: Ref) => PreCachingConfig | undefined;
}

/** The job with the settings of this hub. */
export function createPrecacheJob(settings: PrecacheSettings, configs: PrecacheConfigs = { get: () => undefined }): PrecacheJob {
  return {
    work: 'precache',
    machine: precacheJobMachine,
    states: PrecacheState,
    names: precacheNames,
    transport: settings.transport,
    words: {
      work: 'pre-caching',
      doing: 'pre-caching',
      active: 'pulling',
      refusal: 'because it has SecurityContextConstraints and its ManagedCluster neither label vendor=OpenShift nor the claims that say so',
    },
    priorities,
    statesIn: (status) => status?.precaching?.status,
    inputsIn: (upgrade) => {
      const spec = upgrade.status?.precaching?.spec;
      const image = imageOf(upgrade, settings, configs);
      return spec && upgrade.spec && { spec, image, profile: settings.profile, jobSeconds: upgrade.spec.remediationStrategy.timeout * 60 };
    },
    workload: ({ spec, image, profile, jobSeconds }, { upgradeUid, managed, clusters }) => {
      const node = spokeNode(managed);
      const { caBundle } = settings;
      const variables = { PROGRESS_SECONDS: String(progressPace(settings.progressViewSeconds, clusters)), ...settings.variables };
      const inputs = { upgradeUid, spec, image, profile, deadlineSeconds: jobSeconds, node, variables, caBundle };
      return {
        manifests: () => markWithDigest(precacheManifests(inputs), specDigest(spec)),
        problem: image === '' ? NO_IMAGE : problemOf(managed, node, settings),
        deletions: deletionsOf(profile),
        jobViewSeconds: settings.jobViewSeconds,
        patienceMs: jobSeconds * 1000 + settings.graceMs,
      };
    },
    digest: ({ spec }) => specDigest(spec),
  };
}

/** The reference reads no annotation of the cluster, and its shape of the job takes nothing from them. */
function problemOf(
  managed: ManagedCluster | undefined,
  { problems, unknown }: SpokeNode,
  { profile, talmStrict }: PrecacheSettings,
): string | undefined {
  const held = talmStrict ? undefined : findHold(managed);
  const unusable = profile === 'talm' ? undefined : (problems[0] ?? (talmStrict ? undefined : unknown));
  return held ?? unusable;
}

/**
 * Reports of progress a second that an upgrade has its spokes make, all together. Each is a write on the hub, of 15 ms of its server's CPU where
 * it is a work's: they must leave room for jobs that begin and for verdicts.
 */
const REPORTS_PER_SECOND = 25;

/**
 * Seconds between two reports of a spoke. In steps of twice as long: what a job is made with must not be another one whenever a cluster
 * leaves the plan.
 */
export function progressPace(shortestSeconds: number, clusters: number): number {
  const wanted = clusters / REPORTS_PER_SECOND / shortestSeconds;
  return shortestSeconds * 2 ** Math.max(0, Math.ceil(Math.log2(wanted)));
}

const NO_IMAGE = 'the PreCachingConfig names an image of the puller that the hub does not allow';

/** The one that the upgrade's PreCachingConfig names, if this hub allows it, else the hub's own. */
function imageOf(
  { metadata, spec }: ClusterGroupUpgrade,
  { image, imageAllow, talmStrict = false }: PrecacheSettings,
  configs: PrecacheConfigs,
) {
  const { name, namespace } = spec?.preCachingConfigRef ?? {};
  const config = name && !talmStrict ? configs.get({ namespace: namespace || (metadata.namespace ?? ''), name }) : undefined;
  const wanted = config?.spec?.overrides?.preCacheImage?.trim();
  if (!wanted) return image;
  return isImageAllowed(wanted, imageAllow) ? wanted : '';
}

/** What has to be removed when an upgrade ends or is deleted. */
export const precacheTeardown = (profile: JobProfile): TeardownJob => ({
  work: 'precache',
  names: precacheNames,
  deletions: deletionsOf(profile),
  initial: precacheJobMachine.initial,
});

/** Only the reference's shape has a ClusterRoleBinding, which outlives the namespace. */
const deletionsOf = (profile: JobProfile): string[] =>
  profile === 'talm' ? [PrecacheAction.deleteNamespace, PrecacheAction.deleteClusterRoleBinding] : [PrecacheAction.deleteNamespace];
