/** The job that removes an upgrade's pins from a spoke: the puller of a pre-cache in another mode, on every node that takes a pod. Pure. */
import type { ManagedCluster } from '@flotilla/api/ocm';
import { type NodeRules, PinsName, type PinWay, type PrecacheState } from '@flotilla/api/ran';
import { isImageAllowed, precacheJobMachine, spokeNode } from '@flotilla/rollout';
import { PINS_WORK } from '../../caches.ts';
import type { StepContext } from '../jobs/interpret.ts';
import { pinVariables, precacheNames } from '../jobs/kinds/precache/job.ts';
import { precacheManifests } from '../jobs/kinds/precache/manifests.ts';
import type { PrecacheSettings } from '../jobs/kinds/precache/settings.ts';
import { markWithDigest } from '../jobs/kinds/precache/spec-digest.ts';
import type { NamedJob } from '../transports/port/port.ts';
import type { SpokeJobNames, Workload } from '../transports/port/workload.ts';

const { actions, views } = precacheNames;

const names: SpokeJobNames = {
  ...precacheNames,
  manifestWork: PinsName.work,
  actions: {
    deleteNamespace: PinsName.action(actions.deleteNamespace),
    deleteClusterRoleBinding: PinsName.action(actions.deleteClusterRoleBinding),
    createJob: PinsName.action(actions.createJob),
  },
  views: {
    namespace: { ...views.namespace, name: PinsName.viewOfNamespace },
    job: { ...views.job, name: PinsName.viewOfJob },
  },
};

/** Digest of the job's spec, which is always the same. */
export const UNPIN_DIGEST = 'unpin';

/** The job as its transports and its interpreter know it. */
export const pinsJob: NamedJob & StepContext<PrecacheState>['job'] = {
  work: PINS_WORK,
  machine: precacheJobMachine,
  names,
  words: { work: 'removing pins', doing: 'removing pins from', active: 'removing pins' },
};

/** Deadline of the Job in seconds: the puller asks the runtime alone. */
const JOB_SECONDS = 300;

/** Pins may be on any node: those that other rules chose, and those that have other taints by now. An absent node's end by themselves. */
const EVERY_NODE: NodeRules = { selector: {}, tolerations: [{ operator: 'Exists' }], patienceSeconds: 120, absent: 'ignore' };

/** Settings of the hub that the job needs. */
export type PinsSettings = Pick<PrecacheSettings, 'image' | 'imageAllow' | 'jobViewSeconds' | 'graceMs' | 'transport'>;

/** Spoke and upgrade whose pins are removed. */
interface UnpinTarget {
  readonly upgradeUid: string;
  readonly managed: ManagedCluster | undefined;
  /** Image of the upgrade's puller. */
  readonly image: string;
  /** Way by which the pins were made. */
  readonly way: PinWay;
}

/** Builds the workload. It needs nothing of the upgrade but its uid, because the upgrade may be gone. */
export function unpinWorkload({ upgradeUid, managed, image, way }: UnpinTarget, settings: PinsSettings): Workload {
  const node = spokeNode(managed);
  const puller = isImageAllowed(image, settings.imageAllow) ? image : settings.image;
  // Its progress interests nobody, and a whole fleet may be unpinned at a time.
  const variables = { MODE: 'unpin', ...pinVariables(way, upgradeUid, JOB_SECONDS), PROGRESS_SECONDS: String(JOB_SECONDS) };
  const nodes = node.moreNodes === 'no' ? undefined : EVERY_NODE;
  const inputs = { upgradeUid, spec: {}, image: puller, profile: 'least-privilege' as const, node, nodes, variables, caBundle: '' };
  const manifests = () =>
    markWithDigest(precacheManifests({ ...inputs, deadlineSeconds: JOB_SECONDS }), UNPIN_DIGEST).map((manifest) => ({
      ...manifest,
      action: PinsName.action(manifest.action),
    }));
  return {
    manifests,
    deletions: [names.actions.deleteNamespace],
    jobViewSeconds: settings.jobViewSeconds,
    patienceMs: JOB_SECONDS * 1000 + settings.graceMs,
    problem: puller === '' ? 'the hub has no image of the puller' : node.problems[0],
  };
}
