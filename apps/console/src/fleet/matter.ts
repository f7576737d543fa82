/** Upgrades, spokes and windows by how much they matter to whoever looks: failures first, then what waits. */
import { endedWithoutEdits, hasEnded, type SpokeState, type UpgradeRow } from '@flotilla/api/answers';

/** Groups of upgrades, the one that matters most first. */
export const GROUPS = ['failed', 'waiting', 'running', 'ended'] as const;
/** A group of upgrades. */
export type Group = (typeof GROUPS)[number];

const FAILED: ReadonlySet<UpgradeRow['stage']> = new Set(['refused', 'partial', 'failed', 'timed-out']);
const WAITING: ReadonlySet<UpgradeRow['stage']> = new Set(['unplanned', 'waiting', 'between-batches']);

/** Fields of a row that decide how much it matters. */
type Grouped = Pick<UpgradeRow, 'stage' | 'edits' | 'clusters' | 'paused'>;

/** The group of an upgrade: one that goes on and has lost a spoke counts as failed, and so does one that has ended without the edits of its spec. */
export function groupOf({ stage, edits, clusters, paused }: Grouped): Group {
  if (FAILED.has(stage) || clusters.failed > 0 || endedWithoutEdits({ stage, edits })) return 'failed';
  if (hasEnded({ stage })) return 'ended';
  return paused !== null || WAITING.has(stage) ? 'waiting' : 'running';
}

/** Upgrades that matter more have a lower rank. */
export const rankOfUpgrade = (row: Grouped): number => GROUPS.indexOf(groupOf(row));

/** Causes that stand below the figures. */
const MOST_CAUSES = 3;

/** Something that spokes have failed for, or wait for. */
interface Cause {
  readonly says: string;
  /** An upgrade, and a spoke of it. */
  readonly upgrade: string;
  readonly example: string;
  /** Spokes, each as often as it is in an upgrade. */
  readonly clusters: number;
}

/** The causes that matter most of all upgrades: the largest first. Numbers in a sentence are no difference. */
export function firstCauses(rows: readonly Pick<UpgradeRow, 'key' | 'failures' | 'waits'>[], of: 'failures' | 'waits'): Cause[] {
  const causes = new Map<string, Cause>();
  for (const row of rows)
    for (const { says, example, clusters } of row[of]) {
      const id = says.replaceAll(/\d+/g, '#');
      const known = causes.get(id) ?? { says, upgrade: row.key, example, clusters: 0 };
      causes.set(id, { ...known, clusters: known.clusters + clusters });
    }
  return [...causes.values()].toSorted((a, b) => b.clusters - a.clusters).slice(0, MOST_CAUSES);
}

/** States of spokes, the one that matters most first. */
export const STATES: readonly SpokeState[] = ['failed', 'waiting', 'in-batch', 'done', 'none'];

/** Spokes that matter more have a lower rank. */
export const rankOfSpoke = ({ state }: { readonly state: SpokeState }): number => STATES.indexOf(state);

/** A window; undefined as its end says that nobody asks whether something fits. */
type Windowed = Pick<UpgradeRow, 'window'> & { readonly ends: UpgradeRow['ends'] | undefined };

/** A window and the expected end, on the line of time. */
export interface Span extends Windowed {
  readonly from: number;
  /** Undefined where nothing closes it. */
  readonly to: number | undefined;
  readonly endsAt: number | undefined;
}

/** Windows of upgrades that go on: those that are too short, then those of upgrades with failures, then by their time. */
export function spansOf(rows: readonly UpgradeRow[], now: number): (Span & { readonly row: UpgradeRow })[] {
  const rank = ({ row }: { readonly row: UpgradeRow }): number => (row.ends?.fitsWindow === false ? 0 : groupOf(row) === 'failed' ? 1 : 2);
  return rows
    .flatMap((row) => {
      const span = hasEnded(row) ? undefined : spanOf(row, now);
      return span ? { ...span, row } : [];
    })
    .toSorted((a, b) => rank(a) - rank(b) || a.from - b.from);
}

/** The place of a window on the line of time; undefined for one that has none. */
export function spanOf({ window, ends }: Windowed, now: number): Span | undefined {
  if (window.state === 'none' || window.state === 'invalid') return undefined;
  const from = window.state === 'open' ? now : Date.parse(window.opensAt ?? '');
  if (Number.isNaN(from)) return undefined;
  const to = window.closesAt === undefined ? undefined : Date.parse(window.closesAt);
  return { window, ends, from, to, endsAt: ends?.seconds.value === undefined ? undefined : now + ends.seconds.value * 1000 };
}
