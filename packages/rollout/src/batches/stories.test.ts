import { ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { openGates } from '../gates/gate-builders.ts';
import type { Window } from '../gates/window.ts';
import type { RolloutProblem, Standing } from '../upgrade/model.ts';
import { type Advance, advanceRollout } from './advance.ts';
import { startRollout } from './start.ts';
import { summarizeWaits } from './waits.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;

/** What the world is like from a moment on; what a moment does not name stays as it was. */
interface World {
  readonly standings?: Readonly<Record<string, Standing>>;
  readonly gone?: readonly string[];
  readonly unprepared?: readonly string[];
  readonly unedited?: readonly string[];
  readonly problems?: Readonly<Record<string, RolloutProblem>>;
  readonly window?: Window;
}

/** One story: who is rolled out how, and what happens when, minutes after the start. */
interface Story {
  readonly name: string;
  readonly clusters: readonly string[];
  readonly compliant?: readonly string[];
  readonly strategy?: Partial<ClusterGroupUpgradeSpec['remediationStrategy']>;
  readonly action?: 'Abort' | 'Continue';
  readonly soakSeconds?: number;
  readonly moments: readonly (readonly [minutes: number, world: World])[];
}

const stories: readonly Story[] = [
  {
    name: 'canary-then-batches',
    clusters: ['a', 'b', 'c'],
    strategy: { canaries: ['c'], maxConcurrency: 2 },
    moments: [
      [0, { unprepared: ['a'] }],
      [1, { unprepared: [] }],
      [5, { standings: { c: 'done' } }],
      [10, { standings: { c: 'done', a: 'done' } }],
      [11, { standings: { c: 'done', a: 'done', b: 'notMatched' } }],
    ],
  },
  {
    name: 'soak-that-is-lost-and-begun-again',
    clusters: ['a'],
    soakSeconds: 120,
    moments: [
      [0, {}],
      [1, { standings: { a: 'done' } }],
      [2, { standings: {} }],
      [3, { standings: { a: 'done' } }],
      [5, {}],
      [6, {}],
    ],
  },
  {
    name: 'window-that-closes-between-batches',
    clusters: ['a', 'b'],
    moments: [
      [0, {}],
      [10, { window: { kind: 'closed', message: 'Waiting for the window', opensAt: T0 + 20 * MINUTE }, standings: { a: 'done' } }],
      [20, { window: { kind: 'open' } }],
      [25, { standings: { a: 'done', b: 'done' } }],
    ],
  },
  {
    name: 'batch-that-times-out-and-the-next-goes-on',
    clusters: ['a', 'b'],
    action: 'Continue',
    moments: [
      [0, {}],
      [30, {}],
      [40, { standings: { b: 'done' } }],
      [59, { standings: { a: 'done', b: 'done' } }],
    ],
  },
  {
    name: 'batch-that-times-out-and-ends-it',
    clusters: ['a', 'b'],
    action: 'Abort',
    moments: [
      [0, {}],
      [30, {}],
    ],
  },
  {
    name: 'edits-that-come-after-the-deadline',
    clusters: ['a'],
    compliant: ['b'],
    moments: [
      [0, { unedited: ['a', 'b'] }],
      [10, { unedited: ['a'] }],
      [60, { standings: { a: 'done' } }],
      [61, { unedited: [] }],
    ],
  },
  {
    name: 'cluster-that-leaves-and-one-that-is-refused',
    clusters: ['a', 'b', 'c'],
    strategy: { maxConcurrency: 3 },
    moments: [
      [0, {}],
      [5, { gone: ['a'], standings: { b: 'done', c: 'done' }, unedited: ['b'] }],
      [6, { problems: { b: { message: 'admission denied it', isRefused: true } } }],
    ],
  },
];

/** The passes of a story, a line each. */
function tell({ clusters, compliant = [], strategy, action, soakSeconds = 0, moments }: Story): string {
  const spec = ClusterGroupUpgradeSpec.parse({
    remediationStrategy: { maxConcurrency: 1, timeout: 60, ...strategy },
    batchTimeoutAction: action,
  });
  const { canaries, maxConcurrency } = spec.remediationStrategy;
  let status = startRollout({ status: {} }, { clusters, compliant, isCompliant: () => false, canaries, maxConcurrency, now: T0 });
  let world: World = {};
  const lines = [`plan ${JSON.stringify(status.remediationPlan)}`];
  for (const [minutes, change] of moments) {
    world = { ...world, ...change };
    const now = T0 + minutes * MINUTE;
    const advance = advanceRollout({
      spec,
      status,
      now,
      gates: { ...openGates, ...(world.window && { window: world.window }) },
      observation: observe(world, soakSeconds),
    });
    status = { ...status, status: advance.status, clusters: [...advance.clusters] };
    lines.push(describe(minutes, status, advance));
  }
  return `${lines.join('\n')}\n`;
}

const observe = ({ standings = {}, gone = [], unprepared = [], unedited = [], problems = {} }: World, soakSeconds: number) => ({
  mode: {
    kind: 'policy' as const,
    count: 1,
    name: (index: number) => `p${index}`,
    standing: (cluster: string) => standings[cluster] ?? 'pending',
    soakSeconds: () => soakSeconds,
    detail: () => ({}),
  },
  exists: (cluster: string) => !gone.includes(cluster),
  isPrepared: (cluster: string) => !unprepared.includes(cluster),
  isEdited: (cluster: string) => !unedited.includes(cluster),
  placementProblem: undefined,
  problem: (cluster: string | undefined) => problems[cluster ?? ''],
});

function describe(
  minutes: number,
  { status, clusters = [] }: ClusterGroupUpgradeStatus,
  { progressing, succeeded, waits, wakeAt }: Advance,
): string {
  const progress = Object.entries(status.currentBatchRemediationProgress ?? {}).map(
    ([cluster, { state, firstCompliantAt }]) => `${cluster}:${state}${firstCompliantAt === undefined ? '' : '(soaks)'}`,
  );
  const records = clusters.map(({ name, state, message }) => `${name}=${state}${message === undefined ? '' : `(${message})`}`);
  const batch =
    status.currentBatch === undefined ? 'preparing' : `batch ${status.currentBatch}${status.currentBatchStartedAt ? '' : ' waits'}`;
  const wake = wakeAt === undefined ? '' : `wake +${new Date(wakeAt - T0).toISOString().slice(11, 19)}`;
  const verdict = `${progressing.reason}: ${progressing.message}${succeeded ? ` [Succeeded=${succeeded.status}]` : ''}`;
  const waiting = summarizeWaits(waits).map(({ for: what, names }) => `${names.join(',')} for ${what}`);
  return [`+${minutes}`, batch, progress.join(' '), records.join(' '), waiting.join('; '), wake, verdict].join(' | ');
}

test.each(stories)('$name', async (story) => {
  await expect(tell(story)).toMatchFileSnapshot(`stories/${story.name}.txt`);
});
