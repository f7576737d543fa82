/** Every way in which a template, its work or its agent may leave a cluster, at every moment of an upgrade by works; one cell is one world. */
import { WorkWorld } from './work-world.ts';

/** Moments at which it happens; a work knows no soak. */
export const workMoments = ['before the start', 'canary', 'later batch', 'last batch'] as const;
export type WorkMoment = (typeof workMoments)[number];

/** One cause: what happens, what ends it after ten minutes, and words by which it is named. */
interface WorkCause {
  readonly begin: (world: WorkWorld, cluster: string) => unknown;
  readonly end?: (world: WorkWorld, cluster: string) => unknown;
  readonly names: RegExp | undefined;
  /** Template that the cluster is at then, from 0; default the first. */
  readonly at?: number;
}

const GONE = /ManifestWorkReplicaSet .*t is gone|Missing|not found/i;

/** The causes by name. */
export const workCauses = {
  'template edited': {
    begin: ({ facts }) => Object.assign(facts, { version: 2 }),
    names: /is not what the rollout began with/,
  },
  'template edited and put back': {
    begin: ({ facts }) => Object.assign(facts, { version: 2 }),
    end: ({ facts }) => Object.assign(facts, { version: 1 }),
    names: /is not what the rollout began with/,
  },
  'template gone': { begin: ({ facts }) => Object.assign(facts, { version: undefined }), names: GONE },
  'template made again': {
    begin: ({ facts }) => Object.assign(facts, { version: undefined }),
    end: ({ facts }) => Object.assign(facts, { version: 1 }),
    names: GONE,
  },
  'work deleted': { begin: (world, cluster) => world.deleteWork(cluster), end: () => undefined, names: undefined },
  'agent away': { begin: ({ facts }, cluster) => facts.away.add(cluster), names: /is not available/ },
  'agent back after a while': {
    begin: ({ facts }, cluster) => facts.away.add(cluster),
    end: ({ facts }, cluster) => facts.away.delete(cluster),
    names: undefined,
  },
  refused: { begin: ({ facts }, cluster) => facts.failing.add(cluster), names: undefined },
  'imported again': {
    begin: ({ facts }, cluster) => facts.imports.set(cluster, 1),
    end: () => undefined,
    names: /imported again/,
    at: 1,
  },
} as const satisfies Record<string, WorkCause>;
export type WorkCauseName = keyof typeof workCauses;

/** Result of a cell. */
interface WorkCellResult {
  readonly unseenSuccesses: readonly string[];
  readonly isNamed: boolean;
  readonly end: string | undefined;
  readonly recorded: Readonly<Record<string, string>>;
  /** Versions that reached any cluster. */
  readonly versions: readonly string[];
}

const CLUSTERS = ['c1', 'c2', 'c3', 'c4'];
const victims: Record<WorkMoment, string> = { 'before the start': 'c2', canary: 'c1', 'later batch': 'c2', 'last batch': 'c4' };
const STEPS_PER_MINUTE = 6;
const TIMEOUT_MINUTES = 60;

/** Plays one cell. @param shift steps by which what happens is late, for other seeds */
export async function playWorkCell(
  cause: WorkCauseName,
  moment: WorkMoment,
  { shift = 0, talmStrict = false } = {},
): Promise<WorkCellResult> {
  const world = new WorkWorld({ clusters: CLUSTERS, canaries: ['c1'], timeoutMinutes: TIMEOUT_MINUTES, talmStrict });
  const { begin, end, names, at: index = 0 }: WorkCause = workCauses[cause];
  const victim = victims[moment];
  const isBefore = moment === 'before the start';
  const isReached = () => {
    const { state, manifestWorkIndex = 0 } = world.upgrade?.status?.status.currentBatchRemediationProgress?.[victim] ?? {};
    return state === 'InProgress' && manifestWorkIndex === index;
  };
  try {
    await world.begin();
    let at = isBefore ? 0 : undefined;
    if (isBefore) begin(world, victim);
    await world.step();
    world.create();
    for (let step = 1; step < (TIMEOUT_MINUTES + 15) * STEPS_PER_MINUTE && world.condition('Succeeded') === undefined; step += 1) {
      if (at === undefined && isReached()) at = step + shift;
      if (!isBefore && at === step) begin(world, victim);
      if (at !== undefined && step === at + 10 * STEPS_PER_MINUTE) end?.(world, victim);
      await world.step();
    }
    return {
      unseenSuccesses: world.unseenSuccesses,
      isNamed: names === undefined || [...world.said].some((message) => names.test(message)),
      end: world.condition('Succeeded') ?? world.condition('Validated'),
      recorded: world.recorded,
      versions: world.versions,
    };
  } finally {
    world.stop();
  }
}
