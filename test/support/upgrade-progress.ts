import { findCondition, type Ref } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  isFinalPrecacheState,
  type PrecacheProgress,
  type PrecacheState,
} from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { followUpgrade } from './follow-object.ts';

/** What the ClusterGroupUpgrade says of one spoke. */
export interface SpokeProgress {
  readonly name: string;
  readonly state: PrecacheState;
  readonly progress: PrecacheProgress | undefined;
  readonly message: string | undefined;
}

/** How pre-caching is followed. */
interface FollowOptions {
  /** Names of the spokes that are to end. */
  readonly spokes: readonly string[];
  /** Called after every change of the status. */
  readonly onChange?: (spokes: readonly SpokeProgress[]) => void;
  /** Milliseconds until it is given up. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/**
 * Follows the status of a ClusterGroupUpgrade until the pre-caching of every spoke has ended, well or badly, and the
 * upgrade itself says so. Throws `FLOTILLA_DEMO_TIMEOUT` with the last state.
 */
export async function followPrecaching(client: Client, ref: Required<Ref>, options: FollowOptions): Promise<SpokeProgress[]> {
  const { spokes, onChange, withinMs, signal } = options;
  const ended = await followUpgrade(client, ref, {
    onChange(upgrade) {
      const progress = readProgress(upgrade, spokes);
      onChange?.(progress);
      return progress.every(({ state }) => isFinalPrecacheState(state)) && saysEnded(upgrade);
    },
    explain(upgrade) {
      const states = readProgress(upgrade, spokes).map(
        ({ name, state, message }) => `${name} is ${state}${message ? ` (${message})` : ''}`,
      );
      return `pre-caching did not end (${states.join(', ')})`;
    },
    withinMs,
    signal,
  });
  return readProgress(ended, spokes);
}

function readProgress(upgrade: ClusterGroupUpgrade | undefined, spokes: readonly string[]): SpokeProgress[] {
  const precaching = upgrade?.status?.precaching;
  return spokes.map((name) => ({
    name,
    state: precaching?.status?.[name] ?? 'NotStarted',
    progress: precaching?.progress?.[name],
    message: precaching?.messages?.[name],
  }));
}

/** The condition has left `InProgress`: the roll-up was written. */
function saysEnded(upgrade: ClusterGroupUpgrade): boolean {
  const condition = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.precachingSucceeded);
  return condition !== undefined && condition.reason !== 'InProgress';
}
