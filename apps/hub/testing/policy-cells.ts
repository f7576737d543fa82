/** Every way in which a policy may leave a cluster, at every moment of an upgrade; one cell is one world. */
import { Placement, PlacementBinding, PlacementDecision } from '@flotilla/api/ocm';
import { type Framework, PolicyWorld } from './policy-world.ts';

/** Moments at which it happens. */
export const moments = ['before the start', 'canary', 'in soak', 'later batch', 'last batch'] as const;
export type Moment = (typeof moments)[number];

/** One cause: what happens to the cluster (or to all), what ends it, and words by which it is named; the policy is pending, and says so, where there are none. */
interface Cause {
  readonly begin: (facts: Framework, cluster: string) => unknown;
  /** It passes by itself after ten minutes. */
  readonly end?: (facts: Framework, cluster: string) => unknown;
  readonly names: RegExp | undefined;
}

/** Before the start, that is how it is known that the policy is not meant for the cluster. */
const NOT_SELECTED = /Placement policies\/where does not select|no policy of the upgrade is placed on it/;

const NOT_SERVED = /the API server (?:serves no Placement|does not serve .*Placement)/;

/** The causes by name. */
export const causes = {
  disabled: { begin: (facts) => Object.assign(facts, { disabled: true }), names: /it is disabled/ },
  unbound: { begin: (facts) => Object.assign(facts, { bound: false }), names: /no PlacementBinding binds it/ },
  'Placement edited': { begin: (facts, cluster) => facts.unselected.add(cluster), names: NOT_SELECTED },
  'cluster set unbound': { begin: (facts) => Object.assign(facts, { setBound: false }), names: /selects from no cluster set/ },
  'label gone': { begin: (facts, cluster) => facts.unlabelled.add(cluster), names: NOT_SELECTED },
  unreachable: { begin: (facts, cluster) => facts.away.add(cluster), names: /does not tolerate the taint/ },
  'unreachable, tolerated': {
    begin: (facts, cluster) => Object.assign(facts, { tolerates: true }).away.add(cluster),
    names: /is not available/,
  },
  'back after a while': {
    begin: (facts, cluster) => facts.away.add(cluster),
    end: (facts, cluster) => facts.away.delete(cluster),
    names: /does not tolerate the taint/,
  },
  'roll-up late': {
    begin: (facts) => Object.assign(facts, { isRollUpStalled: true }),
    end: (facts) => Object.assign(facts, { isRollUpStalled: false }),
    names: undefined,
  },
  'copy late': {
    begin: (facts, cluster) => facts.uncopied.add(cluster),
    end: (facts, cluster) => facts.uncopied.delete(cluster),
    names: /is placed on .*: its copy is not there yet/,
  },
  'deleted and made again': {
    begin: (facts) => Object.assign(facts, { exists: false }),
    end: (facts) => Object.assign(facts, { exists: true }),
    names: /it was deleted|Missing managed policies/,
  },
  'imported again': {
    begin: (facts, cluster) => facts.imports.set(cluster, 1),
    end: () => undefined,
    names: /imported again/,
  },
  'enforced by its owner, in vain': {
    begin: (facts, cluster) => Object.assign(facts, { enforced: true }).failing.add(cluster),
    names: undefined,
  },
  'bindings not served': { begin: (facts) => Object.assign(facts, { unserved: PlacementBinding }), names: NOT_SERVED },
  'Placements not served': { begin: (facts) => Object.assign(facts, { unserved: Placement }), names: NOT_SERVED },
  'decisions not served': { begin: (facts) => Object.assign(facts, { unserved: PlacementDecision }), names: NOT_SERVED },
} as const satisfies Record<string, Cause>;
export type CauseName = keyof typeof causes;

/** Result of a cell. */
interface CellResult {
  /** Clusters that were called complete and were not seen to comply. */
  readonly unseenSuccesses: readonly string[];
  /** Some message named the thing that it waits for. */
  readonly isNamed: boolean;
  /** Verdict of the upgrade, or of its validation where it never began. */
  readonly end: string | undefined;
  readonly recorded: Readonly<Record<string, string>>;
  /** Policies that clusters without success were at, with what they were there. */
  readonly leftAt: Readonly<Record<string, unknown>>;
}

const CLUSTERS = ['c1', 'c2', 'c3', 'c4'];
/** The cluster that it happens to, by the moment. */
const victims: Record<Moment, string> = {
  'before the start': 'c2',
  canary: 'c1',
  'in soak': 'c1',
  'later batch': 'c2',
  'last batch': 'c4',
};
const STEPS_PER_MINUTE = 6;
const TIMEOUT_MINUTES = 60;

/** Plays one cell. @param shift steps by which what happens is late, for other seeds */
export async function playCell(cause: CauseName, moment: Moment, { shift = 0, talmStrict = false } = {}): Promise<CellResult> {
  const world = new PolicyWorld({ clusters: CLUSTERS, canaries: ['c1'], soakSeconds: 120, timeoutMinutes: TIMEOUT_MINUTES, talmStrict });
  const { begin, end, names }: Cause = causes[cause];
  const victim = victims[moment];
  try {
    await world.begin();
    const happens = whenOf(moment, victim);
    let at = moment === 'before the start' ? 0 : undefined;
    if (at === 0) begin(world.facts, victim);
    await world.step();
    world.create();
    for (let step = 1; step < (TIMEOUT_MINUTES + 15) * STEPS_PER_MINUTE && world.condition('Succeeded') === undefined; step += 1) {
      if (at === undefined && happens(world)) at = step + shift;
      if (at === step) begin(world.facts, victim);
      if (at !== undefined && step === at + 10 * STEPS_PER_MINUTE) end?.(world.facts, victim);
      await world.step();
    }
    const verdict = world.condition('Succeeded');
    return {
      unseenSuccesses: world.unseenSuccesses,
      isNamed: names === undefined || [...world.said].some((message) => names.test(message)),
      end: verdict ?? world.condition('Validated'),
      recorded: world.recorded,
      leftAt: Object.fromEntries(
        (world.upgrade?.status?.clusters ?? []).flatMap(({ name, currentPolicy }) => (currentPolicy ? [[name, currentPolicy]] : [])),
      ),
    };
  } finally {
    world.stop();
  }
}

/** When it is time. */
function whenOf(moment: Moment, victim: string): (world: PolicyWorld) => boolean {
  const progress = (world: PolicyWorld) => world.upgrade?.status?.status.currentBatchRemediationProgress?.[victim];
  if (moment === 'in soak') return (world) => progress(world)?.firstCompliantAt !== undefined;
  return (world) => progress(world)?.state === 'InProgress';
}
