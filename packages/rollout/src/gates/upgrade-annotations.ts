/**
 * Annotations that people give an upgrade, besides its window and pause (`window.ts`, `pause.ts`): batches filled with clusters that are
 * ready, the age of proofs, pins, clusters that join. Pure.
 */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  type ConditionReason,
  cutAtWord,
  explain,
  PinWay,
} from '@flotilla/api/ran';
import { MINUTE_MS, quote, readDuration } from '../values/formats.ts';

/** Problem of an annotation as a condition states it, with the fix. */
export interface AnnotationProblem {
  readonly reason: ConditionReason;
  readonly message: string;
}

/**
 * The first of these annotations that cannot be used.
 * @param areProofsKept false where the API server drops `status.precaching.proofs`
 * @param isRunning its pins are those of its start, whatever is asked for since
 */
export function findAnnotationProblem(upgrade: Upgrade, areProofsKept = true, isRunning = false): AnnotationProblem | undefined {
  const membership = findMembershipProblem(upgrade);
  if (membership !== undefined) return { reason: 'InvalidMembership', message: membership };
  const waves = readWaves(upgrade).problem;
  if (waves !== undefined) return { reason: 'InvalidWaves', message: waves };
  const pins = isRunning ? undefined : readPins(upgrade).problem;
  return pins === undefined ? readProofWithin(upgrade, areProofsKept).problem : { reason: 'InvalidPins', message: pins };
}

/** An upgrade as far as its annotations need it. */
type Upgrade = Pick<ClusterGroupUpgrade, 'spec' | 'status'> & { readonly metadata: Partial<ObjectMeta> };

/** Rules by which a batch is filled. */
export interface Waves {
  /** Clusters that a batch has at least, as long as so many are left. */
  readonly least: number;
  /** Milliseconds after which a batch begins with those that are ready. */
  readonly patienceMs: number;
}

/** Longest patience where the annotation says none. */
const MOST_PATIENCE_MS = 60 * MINUTE_MS;
const PATIENCE_BOUNDS = { shortestMs: 1_000, longestMs: 168 * 60 * MINUTE_MS };

const WAVE_KEYS = [Annotation.waves, Annotation.waveMin, Annotation.wavePatience] as const;

/** An upgrade's rules, or why its annotations cannot be used; empty where its batches are those of the list. */
export function readWaves({ metadata: { annotations = {} }, spec, status }: Upgrade): {
  readonly waves?: Waves;
  readonly problem?: string;
} {
  const [kind, least = '1', patience] = WAVE_KEYS.map((key) => annotations[key]?.trim());
  const refuse = (key: string, value: string, why: string) => ({
    problem: explain('InvalidWaves', `Annotation ${key} is ${JSON.stringify(cutAtWord(value))}, ${why}`),
  });
  if (kind === undefined) {
    const stray = WAVE_KEYS.find((key) => annotations[key] !== undefined);
    return stray === undefined ? {} : refuse(stray, annotations[stray] ?? '', `and ${Annotation.waves} is missing`);
  }
  if (kind !== 'ready') return refuse(Annotation.waves, kind, 'which is not known');
  if (!/^[1-9]\d{0,4}$/.test(least)) return refuse(Annotation.waveMin, least, 'no whole number from 1');
  const patienceMs = patience === undefined ? shareOf(spec, status) : readDuration(patience, PATIENCE_BOUNDS);
  if (patienceMs === undefined) return refuse(Annotation.wavePatience, patience ?? '', 'no duration from 1s to 168h');
  return { waves: { least: Number(least), patienceMs } };
}

/** Why an upgrade with the annotations of waves is none for a hub that decides as the reference does; undefined without them. */
export const refuseStrictWaves = ({ metadata: { annotations = {} } }: Upgrade): string | undefined => {
  const key = WAVE_KEYS.find((each) => annotations[each] !== undefined);
  return key && explain('InvalidWaves', `Annotation ${key} has no meaning with --talm-strict`);
};

/** Part of the time-out that a batch has, milliseconds. */
const shareOf = (spec: ClusterGroupUpgrade['spec'], status: ClusterGroupUpgradeStatus | undefined): number =>
  Math.min(((spec?.remediationStrategy.timeout ?? 0) * MINUTE_MS) / Math.max(status?.remediationPlan?.length ?? 1, 1), MOST_PATIENCE_MS);

/** Shorter than this a proof would be old before the next begins; a week is longer than any window. */
const PROOF_BOUNDS = { shortestMs: 5 * MINUTE_MS, longestMs: 168 * 60 * MINUTE_MS };

/** Age of a proof, or why the annotation cannot be used; empty where none is asked for. */
interface ProofWithin {
  readonly withinMs?: number | undefined;
  readonly problem?: AnnotationProblem;
}

const refuseProof = (reason: 'InvalidProof' | 'ProofsDropped', problem: string): { readonly problem: AnnotationProblem } => ({
  problem: { reason, message: explain(reason, `Annotation ${Annotation.proofWithin} ${problem}`) },
});

/** Reads the annotation of an upgrade. @param areKept false where the API server drops `status.precaching.proofs` */
export function readProofWithin({ metadata: { annotations = {} }, spec }: Upgrade, areKept = true): ProofWithin {
  const text = annotations[Annotation.proofWithin]?.trim();
  if (text === undefined) return {};
  const withinMs = readDuration(text, PROOF_BOUNDS);
  if (withinMs === undefined) return refuseProof('InvalidProof', `is ${quote(text, 40)}, no duration`);
  if (spec?.preCaching !== true) return refuseProof('InvalidProof', 'stands on an upgrade that pre-caches nothing');
  return areKept ? { withinMs } : refuseProof('ProofsDropped', PROOFS_DROPPED);
}

const PROOFS_DROPPED =
  'needs status.precaching.proofs, which CustomResourceDefinition clustergroupupgrades.ran.openshift.io of this hub drops';

/** Pins that the annotation asks for, or why it cannot be used; empty where nothing is asked for. */
interface PinsWanted {
  readonly pins?: PinWay;
  readonly problem?: string;
}

/** Chooses of two ways the one whose removal removes both: pins last until the end, even if nobody asks for more, or asks for others. */
export const strongerPins = (kept: PinWay | undefined, wanted: PinWay | undefined): PinWay | undefined =>
  kept === 'pinned-image-set' ? kept : (wanted ?? kept);

/** Reads the annotation of an upgrade. */
export function readPins({ metadata: { annotations = {} }, spec }: Upgrade): PinsWanted {
  const value = annotations[Annotation.pins];
  if (value === undefined) return {};
  const refuse = (problem: string): PinsWanted => ({ problem: explain('InvalidPins', `Annotation ${Annotation.pins} ${problem}`) });
  const pins = PinWay.safeParse(value).data;
  if (pins === undefined) return refuse(`is ${JSON.stringify(cutAtWord(value))}, which is not known`);
  return spec?.preCaching === true ? { pins } : refuse('stands on an upgrade that pre-caches nothing');
}

/** True when new clusters join an upgrade; else the clusters are those of the start, as in the reference. */
export const isOpenToMembers = (upgrade: Upgrade): boolean =>
  upgrade.metadata.annotations?.[Annotation.membership] === 'add' && findMembershipProblem(upgrade) === undefined;

/** Problem of the annotation of membership, with the fix; undefined when there is none. */
export function findMembershipProblem({ metadata: { annotations = {} }, spec }: Upgrade): string | undefined {
  const value = annotations[Annotation.membership];
  if (value === undefined || value === 'frozen') return undefined;
  const problem = `Annotation ${Annotation.membership} is ${JSON.stringify(cutAtWord(value))}`;
  if (value !== 'add') return explain('InvalidMembership', `${problem}, which is not known`);
  return spec?.backup === true
    ? explain('InvalidMembership', `${problem}, and spec.backup is true: clusters that join have no backup`)
    : undefined;
}
