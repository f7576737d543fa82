import { loadavg } from 'node:os';
import { z } from 'zod';
import { percentile, round } from './statistics.ts';

/** Heads of the columns of the table in docs/sizing.md. */
export const COLUMNS = [
  'spokes',
  'pre-caching: last job begins',
  'verdicts, p99',
  'hub memory',
  'hub CPU, a spoke',
  'API server CPU, a spoke',
  'size of the upgrade',
  'rollout: overhead of a batch, p95',
  "rollout: hub's requests a spoke",
  'rollout: hub memory',
  'load before',
] as const;

/** Lines around the table in the page. */
export const MARKERS = ['<!-- printed by npm run bench:sizing -->', '<!-- end of what it printed -->'] as const;

/** Figures of a run of bench:precache that the table has. */
export const PrecacheResult = z.looseObject({
  lastJobSeconds: z.number(),
  verdictSeconds: z.looseObject({ p99: z.number() }),
  hubPeakMiB: z.number(),
  cpuSeconds: z.looseObject({ hub: z.number(), apiServer: z.number() }),
  statusKiB: z.number(),
});
/** Figures of a run of bench:rollout that the table has. */
export const RolloutResult = z.looseObject({
  hubPeakMiB: z.number(),
  handOvers: z.array(z.looseObject({ toFirst: z.number() })),
  requests: z.looseObject({ counts: z.record(z.string(), z.number()) }),
});

/** What was measured for one size of a fleet. */
export interface SizeFigures {
  readonly spokes: number;
  readonly precache: z.output<typeof PrecacheResult>;
  /** Undefined where no rollout was measured. */
  readonly rollout: z.output<typeof RolloutResult> | undefined;
  /** Processes that wanted a core in the minute before. */
  readonly load: number;
}

/** Processes that have wanted a core in the last minute. */
export const loadNow = (): number => round(loadavg()[0] ?? Number.NaN);

/** Cells of one row, as many as there are columns. */
export function rowOf({ spokes, precache, rollout, load }: SizeFigures): string[] {
  const perSpoke = (seconds: number) => `${round((seconds * 1000) / spokes)} ms`;
  const requests = Object.values(rollout?.requests.counts ?? {}).reduce((sum, count) => sum + count, 0);
  const overheads = rollout?.handOvers.map(({ toFirst }) => toFirst) ?? [];
  return [
    spokes.toLocaleString('en-US'),
    `${precache.lastJobSeconds} s`,
    `${precache.verdictSeconds.p99} s`,
    `${Math.round(precache.hubPeakMiB)} MiB`,
    perSpoke(precache.cpuSeconds.hub),
    perSpoke(precache.cpuSeconds.apiServer),
    `${Math.round(precache.statusKiB)} KiB`,
    overheads.length > 0 ? `${round(percentile(overheads, 0.95), 2)} s` : '',
    rollout ? String(round(requests / spokes, 2)) : '',
    rollout ? `${Math.round(rollout.hubPeakMiB)} MiB` : '',
    String(load),
  ];
}

/** A line of a table. */
export const tableLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** The page with another table between its markers. Throws when it has none. */
export function withTable(page: string, lines: readonly string[]): string {
  const [begin, end] = MARKERS.map((marker) => page.indexOf(marker));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`the page has no lines ${MARKERS.join(' and ')}`);
  return `${page.slice(0, begin)}${[MARKERS[0], '', ...lines, '', ''].join('\n')}${page.slice(end)}`;
}
