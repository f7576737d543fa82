/** Upgrades, spokes and windows by how much they matter to whoever looks: failures first, then what waits. */
import { hasEnded, type SpokeState, type UpgradeRow } from '@flotilla/api/answers';

/** Groups of upgrades, the one that matters most first. */
export const GROUPS = ['failed', 'waiting', 'running', 'ended'] as const;
/** A group of upgrades. */
export type Group = (typeof GROUPS)[number];

const FAILED: ReadonlySet<UpgradeRow['stage']> = new Set(['refused', 'partial', 'failed', 'timed-out']);
const WAITING: ReadonlySet<UpgradeRow['stage']> = new Set(['unplanned', 'waiting', 'between-batches']);

/** The group of an upgrade: one that goes on and has lost a spoke counts as failed. */
export function groupOf({ stage, clusters, paused }: Pick<UpgradeRow, 'stage' | 'clusters' | 'paused'>): Group {
  if (FAILED.has(stage) || clusters.failed > 0) return 'failed';
  if (hasEnded({ stage })) return 'ended';
  return paused !== null || WAITING.has(stage) ? 'waiting' : 'running';
}

/** Upgrades that matter more have a lower rank. */
export const rankOfUpgrade = (row: Pick<UpgradeRow, 'stage' | 'clusters' | 'paused'>): number => GROUPS.indexOf(groupOf(row));

/** States of spokes, the one that matters most first. */
export const STATES: readonly SpokeState[] = ['failed', 'waiting', 'in-batch', 'done', 'none'];

/** Spokes that matter more have a lower rank. */
export const rankOfSpoke = ({ state }: { readonly state: SpokeState }): number => STATES.indexOf(state);

/** A window and the expected end, on the line of time. */
export interface Span {
  readonly row: UpgradeRow;
  readonly from: number;
  /** Undefined where nothing closes it. */
  readonly to: number | undefined;
  readonly ends: number | undefined;
}

/** Windows of upgrades that go on: those that are too short, then those of upgrades with failures, then by their time. */
export function spansOf(rows: readonly UpgradeRow[], now: number): Span[] {
  const rank = ({ row }: Span): number => (row.ends?.fitsWindow === false ? 0 : groupOf(row) === 'failed' ? 1 : 2);
  return rows.flatMap((row) => spanOf(row, now) ?? []).toSorted((a, b) => rank(a) - rank(b) || a.from - b.from);
}

function spanOf(row: UpgradeRow, now: number): Span | undefined {
  const { window, ends } = row;
  if (hasEnded(row) || window.state === 'none' || window.state === 'invalid') return undefined;
  const from = window.state === 'open' ? now : Date.parse(window.opensAt ?? '');
  if (Number.isNaN(from)) return undefined;
  const to = window.closesAt === undefined ? undefined : Date.parse(window.closesAt);
  return { row, from, to, ends: ends?.seconds.value === undefined ? undefined : now + ends.seconds.value * 1000 };
}
