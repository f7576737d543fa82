/** Phases in which an upgrade is when its hub is lost, and the orders in which its objects come back. */
import { Annotation, conditionTime } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { createRandom } from '@flotilla/control-plane/simulators';
import type { RolloutWorld } from './world.ts';

const MINUTE_MS = 60_000;
/** Clusters of each upgrade. */
export const SIZE = 3;

type Status = NonNullable<ClusterGroupUpgrade['status']>;

/** A phase: what is asked for, who is kept from getting on, and how it is known that the upgrade is there. */
export interface Phase {
  readonly spec?: Record<string, unknown>;
  readonly annotations?: (world: RolloutWorld) => Record<string, string>;
  readonly policy?: Record<string, string>;
  /** Jobs that its spokes get. */
  readonly work?: 'precaching' | 'backup';
  /** Jobs of its spokes go on until the end. */
  readonly jobsHeld?: boolean;
  /** Number of the cluster that does not comply, from 1. */
  readonly held?: number;
  /** Number of the cluster that is enforced in this phase, from 1; absent: none is. */
  readonly enforced?: number;
  readonly isThere: (status: Status, name: string) => boolean;
}

/** Spec by which spokes get these jobs. */
export const WORK_SPEC = { precaching: { preCaching: true, preCachingConfigRef: { name: 'config' } }, backup: { backup: true } };

/** One cluster at a time, unless the phase says otherwise. */
export const batches = (maxConcurrency = 1, more: object = {}) => ({ maxConcurrency, timeout: 240, ...more });
const isAt =
  (number: number) =>
  ({ status }: Status, name: string): boolean =>
    status.currentBatchRemediationProgress?.[`${name}-${number}`]?.state === 'InProgress';
const says = (reason: string) => (status: Status) => (status.conditions ?? []).some((condition) => condition.reason === reason);

/** The phases by the name of their upgrade and its clusters. */
export const phases = {
  idle: { spec: { enable: false }, isThere: (status) => status.remediationPlan?.flat().length === SIZE },
  pulls: { work: 'precaching', jobsHeld: true, isThere: ({ precaching }) => precaching?.status?.['pulls-1'] === 'Active' },
  backup: { work: 'backup', jobsHeld: true, isThere: ({ backup }) => backup?.status?.['backup-1'] === 'Active' },
  window: {
    work: 'precaching',
    annotations: ({ clock }) => ({ [Annotation.windowStart]: conditionTime(clock.now() + 20 * MINUTE_MS) }),
    isThere: says('WaitingForWindow'),
  },
  canary: { spec: { remediationStrategy: batches(2, { canaries: ['canary-1'] }) }, held: 1, enforced: 1, isThere: isAt(1) },
  soak: {
    policy: { 'ran.openshift.io/soak-seconds': '600' },
    enforced: 1,
    isThere: ({ status }) => status.currentBatchRemediationProgress?.['soak-1']?.firstCompliantAt !== undefined,
  },
  later: { work: 'precaching', held: 2, enforced: 2, isThere: isAt(2) },
  last: { held: 3, enforced: 3, isThere: isAt(3) },
  ended: { spec: { remediationStrategy: batches(3) }, isThere: ({ status }) => status.completedAt !== undefined },
  blocked: { spec: { blockingCRs: [{ name: 'canary', namespace: 'default' }] }, isThere: says('IncompleteBlockingCR') },
} as const satisfies Record<string, Phase>;
/** Name of a phase. */
export type PhaseName = keyof typeof phases;
/** Names of the phases. */
export const phaseNames = Object.keys(phases) as PhaseName[];

/** Objects of one upgrade, in the order in which they come back. */
const objects = ['policy', 'cluster 1', 'cluster 2', 'cluster 3', 'upgrade', 'status'] as const;
type ObjectName = (typeof objects)[number];

/** The order by seed and number; the first is the documented one. */
export function orderOf(seed: number, order: number): readonly ObjectName[] {
  if (seed === 0 && order === 0) return ['cluster 1', 'cluster 2', 'cluster 3', 'policy', 'upgrade', 'status'];
  const random = createRandom(seed, `order ${order}`);
  const shuffled = objects.map((name) => ({ name, at: random() })).toSorted((one, other) => one.at - other.at);
  const names = shuffled.map(({ name }) => name);
  // A status needs its object.
  return names.indexOf('status') < names.indexOf('upgrade') ? [...names.filter((name) => name !== 'status'), 'status'] : names;
}
