/** Derives the status of an UpgradeConfig for tools that know nothing of upgrades: `Ready`, `Stalled` while somebody has to act, generations. Pure. */
import { type Condition, datedCondition } from '@flotilla/api';
import {
  UpgradeCondition,
  type UpgradeConfig,
  UpgradeConfigCondition,
  type UpgradeConfigStatus,
  type UpgradeHistory,
  type UpgradePhase,
} from '@flotilla/api/managed';
import { conditionOf } from './history.ts';
import { isWithdrawn } from './in-force.ts';

/** Surroundings of a reading. */
interface ReadingOptions {
  /** Generation of the spec that the entry was judged for; undefined while it was judged for none but the stored one. */
  readonly generation: number | undefined;
  readonly nowMs: number;
}

type Reading = Pick<UpgradeConfigStatus, 'observedGeneration' | 'conditions'>;
type Text = Pick<Condition, 'reason' | 'message'>;

/** An upgrade that has not ended goes on once somebody has corrected what these name. */
const REFUSALS = [UpgradeCondition.validated, UpgradeCondition.configured, UpgradeCondition.clusterVersionFound];
/** Said of an attempt that has no condition about its end. */
const GIVEN_UP = 'The upgrade was given up: set another spec.upgradeAt, or spec.desired, to begin another attempt';
const ENDED: readonly UpgradePhase[] = ['Upgraded', 'Failed'];

/**
 * Reads the upgrade that counts. A status that was judged for an earlier generation keeps its reading: a tool that compares generations takes it for
 * in progress.
 * @param stored as it stands on the server
 * @param entry of the upgrade that counts
 */
export function readingOf(
  { status }: Pick<UpgradeConfig, 'status'>,
  entry: UpgradeHistory,
  { generation, nowMs }: ReadingOptions,
): Reading {
  const { observedGeneration = -1, conditions: before } = status ?? {};
  if (generation === undefined) return { observedGeneration, ...(before && { conditions: before }) };
  const obstacle = obstacleOf(entry);
  const isReady = entry.phase === 'Upgraded';
  const set = (type: string, is: Condition['status'], text: Text): Condition =>
    datedCondition(before, { type, status: is, ...text, observedGeneration: generation }, nowMs);
  const conditions = [
    set(UpgradeConfigCondition.ready, isReady ? 'True' : 'False', obstacle ?? progressOf(entry)),
    ...(obstacle ? [set(UpgradeConfigCondition.stalled, 'True', obstacle)] : []),
  ];
  return { observedGeneration: generation, conditions };
}

/** Obstacle that somebody has to remove. An attempt that was withdrawn makes room for the one that is asked for. */
function obstacleOf(entry: UpgradeHistory): Text | undefined {
  if (entry.phase === 'Failed' && !isWithdrawn(entry))
    return textOf(entry, UpgradeCondition.ended) ?? textOf(entry, UpgradeCondition.failed) ?? { reason: 'Failed', message: GIVEN_UP };
  if (ENDED.includes(entry.phase)) return undefined;
  const refusal = REFUSALS.find((type) => conditionOf(entry, type)?.status === 'False');
  return refusal && textOf(entry, refusal);
}

function progressOf(entry: UpgradeHistory): Text {
  const { phase, version = '' } = entry;
  const newest = entry.conditions?.find(({ status }) => status !== 'True');
  const ended = textOf(entry, UpgradeCondition.ended);
  if (ended) return { reason: phase, message: ended.message };
  const says = newest && `: ${newest.type}: ${newest.waitingFor ?? newest.message ?? ''}`;
  return { reason: phase, message: `The upgrade to ${version} is in phase ${phase}${says ?? ''}` };
}

/** Reasons of steps are no words that a condition of an object may have. */
function textOf(entry: UpgradeHistory, type: UpgradeCondition): Text | undefined {
  const found = conditionOf(entry, type);
  return found && { reason: /^[A-Za-z]\w*$/.test(found.reason ?? '') ? (found.reason ?? type) : type, message: found.message ?? '' };
}
