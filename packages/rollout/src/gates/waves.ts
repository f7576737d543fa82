/** Decides by annotations of people whether batches are filled with clusters that are ready, and how long one is filled. Pure. */
import { Annotation } from '@flotilla/api';
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, cutAtWord, explain } from '@flotilla/api/ran';
import { MINUTE_MS, readDuration } from '../values/duration.ts';

/** Rules by which a batch is filled. */
export interface Waves {
  /** Clusters that a batch has at least, as long as so many are left. */
  readonly least: number;
  /** Milliseconds after which a batch begins with those that are ready. */
  readonly patienceMs: number;
}

/** Longest patience where the annotation says none. */
const MOST_PATIENCE_MS = 60 * MINUTE_MS;
const BOUNDS = { shortestMs: 1_000, longestMs: 168 * 60 * MINUTE_MS };

const KEYS = [Annotation.waves, Annotation.waveMin, Annotation.wavePatience] as const;

/** An upgrade's rules, or why its annotations cannot be used; empty where its batches are those of the list. */
export function readWaves({ metadata: { annotations = {} }, spec, status }: Pick<ClusterGroupUpgrade, 'metadata' | 'spec' | 'status'>): {
  readonly waves?: Waves;
  readonly problem?: string;
} {
  const [kind, least = '1', patience] = KEYS.map((key) => annotations[key]?.trim());
  const refuse = (key: string, value: string, why: string) => ({
    problem: explain('InvalidWaves', `Annotation ${key} is ${JSON.stringify(cutAtWord(value))}, ${why}`),
  });
  if (kind === undefined) {
    const stray = KEYS.find((key) => annotations[key] !== undefined);
    return stray === undefined ? {} : refuse(stray, annotations[stray] ?? '', `and ${Annotation.waves} is missing`);
  }
  if (kind !== 'ready') return refuse(Annotation.waves, kind, 'which is not known');
  if (!/^[1-9]\d{0,4}$/.test(least)) return refuse(Annotation.waveMin, least, 'no whole number from 1');
  const patienceMs = patience === undefined ? shareOf(spec, status) : readDuration(patience, BOUNDS);
  if (patienceMs === undefined) return refuse(Annotation.wavePatience, patience ?? '', 'no duration from 1s to 168h');
  return { waves: { least: Number(least), patienceMs } };
}

/** Why an upgrade with the annotations of waves is none for a hub that decides as the reference does; undefined without them. */
export const refuseStrictWaves = ({ metadata: { annotations = {} } }: Pick<ClusterGroupUpgrade, 'metadata'>): string | undefined => {
  const key = KEYS.find((each) => annotations[each] !== undefined);
  return key && explain('InvalidWaves', `Annotation ${key} has no meaning with --talm-strict`);
};

/** Part of the time-out that a batch has, milliseconds. */
const shareOf = (spec: ClusterGroupUpgrade['spec'], status: ClusterGroupUpgradeStatus | undefined): number =>
  Math.min(((spec?.remediationStrategy.timeout ?? 0) * MINUTE_MS) / Math.max(status?.remediationPlan?.length ?? 1, 1), MOST_PATIENCE_MS);
