/** Removing pins as a job on spokes: the puller of a pre-cache in another mode, on every node that takes a pod. Its state is the mark on the cluster. */
import { type NodeRules, PinsName, type PrecacheState } from '@flotilla/api/ran';
import { isImageAllowed, precacheJobMachine, spokeNode } from '@flotilla/rollout';
import { PINS_WORK } from '../../../../caches.ts';
import { cleaningOf, type SpokeJobNames } from '../../../transports/port/port.ts';
import type { ObservedJob } from '../../kind.ts';
import type { PrecacheSettings } from '../precache/inputs.ts';
import { pinVariables, precacheNames } from '../precache/job.ts';
import { markWithDigest, precacheManifests } from '../precache/manifests.ts';
import type { OwedPins } from './mark.ts';

const { actions, views } = precacheNames;

/** Names of the job on spoke and hub. */
export const pinsNames: SpokeJobNames = {
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
const UNPIN_DIGEST = 'unpin';

/** Deadline of the Job in seconds: the puller asks the runtime alone. */
const JOB_SECONDS = 300;

/** Pins may be on any node: those that other rules chose, and those that have other taints by now. An absent node's end by themselves. */
const EVERY_NODE: NodeRules = { selector: {}, tolerations: [{ operator: 'Exists' }], patienceSeconds: 120, absent: 'ignore' };

/** Settings of the hub that the job needs. */
export type PinsSettings = Pick<PrecacheSettings, 'image' | 'imageAllow' | 'jobViewSeconds' | 'graceMs' | 'transport'>;

/** Kind of job that removes pins; its input is the mark, undefined without one. */
export type UnpinJob = ObservedJob<PrecacheState, OwedPins | undefined>;

/** Creates the kind of job. Its workload needs nothing of the upgrade but its uid, because the upgrade may be gone. */
export const createUnpinJob = (settings: PinsSettings): UnpinJob => ({
  work: PINS_WORK,
  machine: precacheJobMachine,
  names: pinsNames,
  transport: settings.transport,
  words: { work: 'removing pins', doing: 'removing pins from', active: 'removing pins' },
  digest: () => UNPIN_DIGEST,
  workload: (owed, { upgradeUid, managed }) => {
    const deletions = [pinsNames.actions.deleteNamespace];
    if (!owed || owed.isCleaning) return cleaningOf(deletions);
    const node = spokeNode(managed);
    const image = isImageAllowed(owed.image, settings.imageAllow) ? owed.image : settings.image;
    // Its progress interests nobody, and a whole fleet may be unpinned at a time.
    const variables = { MODE: 'unpin', ...pinVariables(owed.way, upgradeUid, JOB_SECONDS), PROGRESS_SECONDS: String(JOB_SECONDS) };
    const nodes = node.moreNodes === 'no' ? undefined : EVERY_NODE;
    const inputs = { upgradeUid, spec: {}, image, profile: 'least-privilege' as const, node, nodes, variables, caBundle: '' };
    return {
      manifests: () =>
        markWithDigest(precacheManifests({ ...inputs, deadlineSeconds: JOB_SECONDS }), UNPIN_DIGEST).map((manifest) => ({
          ...manifest,
          action: PinsName.action(manifest.action),
        })),
      deletions,
      jobViewSeconds: settings.jobViewSeconds,
      patienceMs: JOB_SECONDS * 1000 + settings.graceMs,
      problem: image === '' ? 'the hub has no image of the puller' : node.problems[0],
    };
  },
});
