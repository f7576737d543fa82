import { ClusterGroupUpgradeSpec, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { openGates } from '../../testing/gate-builders.ts';
import type { Window } from '../gates/window.ts';
import { FirstSeen } from '../upgrade/first-seen.ts';
import type { RolloutObservation, RolloutProblem, Standing } from '../upgrade/model.ts';
import { type Advance, advanceRollout } from './advance.ts';
import { startRollout } from './start.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;

/** State of the world from a moment on; anything that a moment does not name stays as it was. */
interface World {
  /** By cluster: of every policy, or of each. */
  readonly standings?: Readonly<Record<string, Standing | readonly Standing[]>>;
  /** Clusters that nothing may be begun on. */
  readonly forbidden?: readonly string[];
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
  /** Policies; default 1. */
  readonly count?: number;
  /** Those that fall back are left alone, as in the reference. */
  readonly talmStrict?: true;
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
      [0, { unedited: ['a', 'b'], standings: { b: 'done' } }],
      [10, { unedited: ['a'] }],
      [60, { standings: { a: 'done', b: 'done' } }],
      [61, { unedited: [] }],
    ],
  },
  {
    name: 'policy-edited-after-a-batch',
    clusters: ['a', 'b', 'c'],
    moments: [
      [0, {}],
      [5, { standings: { a: 'done' } }],
      [6, { standings: {} }],
      [7, {}],
      [10, { standings: { b: 'done' } }],
      [15, { standings: { b: 'done', c: 'done' } }],
      [16, {}],
      [20, { standings: { a: 'done', b: 'done', c: 'done' } }],
    ],
  },
  {
    name: 'policy-edited-after-a-batch-strictly',
    clusters: ['a', 'b'],
    talmStrict: true,
    moments: [
      [0, {}],
      [5, { standings: { a: 'done' } }],
      [6, { standings: {} }],
      [10, { standings: { b: 'done' } }],
      [11, {}],
      [60, {}],
    ],
  },
  {
    name: 'drift-that-passes-by-itself',
    clusters: ['a', 'b'],
    moments: [
      [0, {}],
      [5, { standings: { a: 'done' } }],
      [5.1, { standings: {} }],
      [5.2, { standings: { a: 'done' } }],
      [6, { standings: { a: 'done', b: 'done' } }],
    ],
  },
  {
    name: 'drift-of-many-goes-by-the-size-of-a-batch',
    clusters: ['a', 'b', 'c', 'd', 'e'],
    strategy: { maxConcurrency: 2 },
    moments: [
      [0, { standings: { a: 'done', b: 'done', c: 'done', d: 'done' } }],
      [1, { standings: { b: 'done' } }],
      [2, {}],
      [3, { standings: { a: 'done', b: 'done' } }],
      [4, { standings: { a: 'done', b: 'done', e: 'done' } }],
      [5, { standings: { a: 'done', b: 'done', c: 'done', d: 'done', e: 'done' } }],
    ],
  },
  {
    name: 'drift-of-canaries-goes-first-and-alone',
    clusters: ['a', 'b', 'c', 'd'],
    strategy: { canaries: ['d', 'c'], maxConcurrency: 5 },
    moments: [
      [0, { standings: { c: 'done', d: 'done' } }],
      [1, { standings: { a: 'done' } }],
      [2, {}],
      [3, { standings: { a: 'done', d: 'done' } }],
      [4, { standings: { a: 'done', d: 'done', c: 'done' } }],
      [5, { standings: { a: 'done', b: 'done', d: 'done', c: 'done' } }],
    ],
  },
  {
    name: 'drift-in-the-last-batch-begins-where-it-fell-back-and-soaks',
    clusters: ['a', 'b'],
    strategy: { maxConcurrency: 2 },
    count: 2,
    soakSeconds: 60,
    moments: [
      [0, { standings: { a: 'done' } }],
      [2, {}],
      [4, {}],
      [6, {}],
      [7, { standings: { a: ['done', 'pending'] } }],
      [8, {}],
      [9, { standings: { a: 'done', b: 'done' } }],
      [11, {}],
      [13, {}],
    ],
  },
  {
    name: 'drift-that-is-not-over-in-time',
    clusters: ['a', 'b', 'c'],
    strategy: { maxConcurrency: 1 },
    moments: [
      [0, { standings: { a: 'done', b: 'done' } }],
      [1, { standings: {} }],
      [2, {}],
      [60, { standings: { c: 'done' } }],
    ],
  },
  {
    name: 'drift-outside-the-window-and-where-nothing-may-be-begun',
    clusters: ['a', 'b', 'c'],
    strategy: { maxConcurrency: 3 },
    moments: [
      [0, { standings: { a: 'done', b: 'done' } }],
      [1, { standings: {}, forbidden: ['b'], window: { kind: 'closed', message: 'Waiting for the window', opensAt: T0 + 20 * MINUTE } }],
      [2, {}],
      [20, { window: { kind: 'open' } }],
      [21, { forbidden: [] }],
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
function tell({ clusters, compliant = [], strategy, action, moments, ...story }: Story): string {
  const seen = new FirstSeen();
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
      talmStrict: story.talmStrict ?? false,
      gates: { ...openGates, ...(world.window && { window: world.window }) },
      observation: { ...observe(world, story), ...(!story.talmStrict && { drift: seen.pass('uid', now) }) },
    });
    status = { ...status, status: advance.status, clusters: [...advance.clusters] };
    lines.push(describe(minutes, status, advance));
  }
  return `${lines.join('\n')}\n`;
}

const observe = (
  { standings = {}, gone = [], unprepared = [], unedited = [], problems = {}, forbidden = [] }: World,
  { soakSeconds = 0, count = 1 }: Pick<Story, 'soakSeconds' | 'count'>,
): RolloutObservation => ({
  mode: {
    kind: 'policy',
    count,
    name: (index) => `p${index}`,
    standing: (cluster, index) => {
      const found = standings[cluster] ?? 'pending';
      return typeof found === 'string' ? found : (found[index] ?? 'pending');
    },
    soakSeconds: () => soakSeconds,
    detail: (_, index) => ({ currentPolicy: { name: `p${index}`, status: 'NonCompliant' } }),
  },
  exists: (cluster) => !gone.includes(cluster),
  forbids: (cluster) => (forbidden.includes(cluster) ? { cause: 'refused', says: 'no binding' } : undefined),
  isPrepared: (cluster) => !unprepared.includes(cluster),
  isEdited: (cluster) => !unedited.includes(cluster),
  placementProblem: undefined,
  problem: (cluster) => problems[cluster ?? ''],
});

function describe(
  minutes: number,
  { status, clusters = [] }: ClusterGroupUpgradeStatus,
  { progressing, succeeded, fallenSince, wakeAt }: Advance,
): string {
  const progress = Object.entries(status.currentBatchRemediationProgress ?? {}).map(
    ([cluster, { state, policyIndex = 0, firstCompliantAt }]) =>
      `${cluster}:${state}${policyIndex > 0 ? `(p${policyIndex})` : ''}${firstCompliantAt === undefined ? '' : '(soaks)'}`,
  );
  const records = clusters.map(({ name, state, message }) => `${name}=${state}${message === undefined ? '' : `(${message})`}`);
  const batch =
    status.currentBatch === undefined ? 'preparing' : `batch ${status.currentBatch}${status.currentBatchStartedAt ? '' : ' waits'}`;
  const wake = wakeAt === undefined ? '' : `wake +${new Date(wakeAt - T0).toISOString().slice(11, 19)}`;
  const verdict = `${progressing.reason}: ${progressing.message}${succeeded ? ` [Succeeded=${succeeded.status}]` : ''}`;
  const fallen = [...fallenSince].map(([cluster, since]) => `${cluster} fallen since ${new Date(since).toISOString().slice(11, 19)}`);
  return [`+${minutes}`, batch, progress.join(' '), records.join(' '), fallen.join('; '), wake, verdict].join(' | ');
}

test.each(stories)('$name', async (story) => {
  await expect(tell(story)).toMatchFileSnapshot(`stories/${story.name}.txt`);
});
