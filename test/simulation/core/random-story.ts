import { createRandom } from '@flotilla/control-plane/simulators';
import {
  type Act,
  type Limits,
  ON_CLUSTER,
  ON_COMPLIANCE,
  ON_HUB,
  ON_JOBS,
  ON_LIMITS,
  ON_OPERATOR,
  ON_POLICY,
  ON_UPGRADE,
  ON_WAVES,
  ON_WORKS,
  type OperatorAct,
  type Storm,
  type Story,
  type UpgradePart,
} from './story.ts';

const MINUTE = 60_000;
/** Time in which everything is asked for and goes wrong. */
export const TROUBLE_MS = 20 * MINUTE;

/** Time in which most upgrades do most. */
const BUSY_MS = 6 * MINUTE;

/** For how long a process is away, or by how much its clock is wrong. */
const MISHAP_MS = [100, 2_000, 30_000, 200_000];

/** Spokes of most stories, and of a few: what goes wrong mostly does with few, and in less time. */
const SMALL = [3, 3, 3, 4, 4, 4, 5, 5, 6, 8];
const LARGE = 50;

/** Choices by a seed. */
class Lot {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  /** True in that part of all cases. */
  chance(part: number): boolean {
    return this.#random() < part;
  }

  of<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.#random() * choices.length)];
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }

  some<T>(choices: readonly T[], part: number): T[] {
    return choices.filter(() => this.chance(part));
  }
}

/** Makes the story of a seed: three quarters with three to eight spokes, one in fifty with fifty. */
export function randomStory(seed: number): Story {
  const lot = new Lot(createRandom(seed, 'story'));
  const isLarge = lot.chance(0.02);
  const spokes = isLarge ? LARGE : lot.chance(0.77) ? lot.of(SMALL) : lot.whole(1, 2);
  const upgrades = Array.from({ length: isLarge ? 1 : lot.of([1, 1, 1, 2, 2, 3]) }, (_, index) => randomUpgrade(lot, index, spokes));
  const acts = Array.from({ length: lot.whole(0, 7) }, () => randomAct(lot, spokes, upgrades));
  return withLimits(
    withOperators(
      withWaves({
        seed,
        spokes,
        transport: lot.of(['actions', 'work']),
        hubs: lot.chance(0.3) ? 2 : 1,
        upgrades,
        acts: acts.toSorted((a, b) => a.at - b.at),
        storms: lot.chance(0.5) ? [randomStorm(lot)] : [],
      }),
    ),
  );
}

/**
 * In a fifth of the stories the fleet has limits, which somebody may change, break or take away. Half of those that are large enough are of upgrades
 * that contend for few places; in the others all else stays as it is.
 */
function withLimits(story: Story): Story {
  const lot = new Lot(createRandom(story.seed, 'limits'));
  if (!lot.chance(0.2)) return story;
  const acts = Array.from({ length: lot.whole(0, 2) }, () => randomLimitsAct(lot));
  const limited = { ...story, limits: randomLimits(lot), acts: [...story.acts, ...acts].toSorted((a, b) => a.at - b.at) };
  return story.operated || story.spokes < CROWD || lot.chance(0.5) ? limited : crowded(limited, lot);
}

/** Upgrades that contend for places, each for clusters of its own. */
const CROWD = 3;

/** Upgrades of few clusters each that begin at once, or while the first still pulls, where one or two places are all there is. */
function crowded(story: Story, lot: Lot): Story {
  const preCaching = lot.chance(0.5);
  const upgrades = Array.from({ length: CROWD }, (_, index): UpgradePart => {
    const { after: _after, ...part } = story.upgrades[index] ?? randomUpgrade(lot, index, story.spokes);
    const clusters = [index + 1, index + 1 + CROWD].filter((cluster) => cluster <= story.spokes && (cluster <= CROWD || lot.chance(0.3)));
    const at = index === 0 ? 0 : lot.of([0, 0, 20_000]);
    // A window that opens late leaves its upgrade without anything to do once it has pulled.
    const windowAt = index === 0 && preCaching && lot.chance(0.5) ? 10 * MINUTE : undefined;
    return { ...part, at, clusters, canaries: [], maxConcurrency: clusters.length, preCaching, enable: true, windowAt };
  });
  const limits = { pulling: lot.of([1, 1, 2]), upgrading: lot.of([1, 1, 2]), row: lot.whole(1, 3) };
  return { ...story, upgrades, limits };
}

/**
 * In a tenth of the stories batches are filled by annotations that somebody adds, edits and takes away in mid-run, of two upgrades on the same clusters,
 * with a canary, another cluster or all but one that are held before the start; all else stays as it is.
 */
function withWaves(story: Story): Story {
  const lot = new Lot(createRandom(story.seed, 'waves'));
  if (!lot.chance(0.1)) return story;
  const [first, ...others] = story.upgrades;
  if (!first) return story;
  const waves = { least: lot.of([1, 2]), patienceMinutes: 1 };
  const [canary = 1] = first.clusters;
  const canaries = lot.chance(0.5) ? [canary] : first.canaries;
  const filled = { ...first, canaries, ...(lot.chance(0.7) && { waves }) };
  const second = { ...(others[0] ?? randomUpgrade(lot, 1, story.spokes)), clusters: first.clusters, canaries: [], waves };
  const upgrades = lot.chance(0.5) ? [filled, second, ...others.slice(1)] : [filled, ...others];
  const isCanary = canaries.length > 0;
  const [, ...allButOne] = first.clusters;
  const held = isCanary ? [canary] : lot.chance(0.5) && allButOne.length > 0 ? allButOne : first.clusters.slice(-1);
  const holds = held.flatMap((cluster): Act[] => [
    { at: 0, what: 'hold', cluster },
    { at: lot.whole(1, isCanary ? 5 : 12) * MINUTE, what: 'release', cluster },
  ]);
  const edits = Array.from(
    { length: lot.whole(0, 3) },
    (): Act => ({ at: lot.whole(0, BUSY_MS), what: lot.of(ON_WAVES), upgrade: lot.of(upgrades).name }),
  );
  return { ...story, upgrades, acts: [...story.acts, ...holds, ...edits].toSorted((a, b) => a.at - b.at) };
}

/** In a tenth of the stories the operators of one spoke run, and things happen to them; all else stays as it is. */
function withOperators(story: Story): Story {
  const lot = new Lot(createRandom(story.seed, 'operators'));
  const [first, ...others] = story.upgrades;
  if (!first || !lot.chance(0.1)) return story;
  const operated = {
    cluster: lot.of(first.clusters),
    upgrade: first.name,
    operators: lot.of(['upgrade', 'both'] as const),
    notBefore: lot.of([0, 0, 2, 8]) * MINUTE,
    isKept: lot.chance(0.5),
  };
  const acts = Array.from(
    { length: lot.whole(0, 4) },
    (): OperatorAct => ({
      at: lot.whole(0, lot.chance(0.7) ? BUSY_MS : TROUBLE_MS),
      what: lot.of(ON_OPERATOR),
      operator: lot.of(['upgrade', 'version'] as const),
      ms: lot.of(MISHAP_MS),
    }),
  );
  // While the first version is applied.
  const at = operated.notBefore + lot.whole(20, 90) * 1_000;
  if (lot.chance(0.25)) acts.push({ at, what: 'ask for another', operator: 'upgrade', ms: 0 });
  const asking = { ...first, policies: [], works: Math.max(1, first.works), timeoutMinutes: lot.of([5, 20, 40, 60]) };
  return { ...story, operated, upgrades: [asking, ...others], acts: [...story.acts, ...acts].toSorted((a, b) => a.at - b.at) };
}

const randomLimits = (lot: Lot): Limits => ({ pulling: lot.whole(1, 3), upgrading: lot.whole(1, 3), row: lot.whole(1, 3) });

const randomLimitsAct = (lot: Lot): Act => ({ at: lot.whole(0, BUSY_MS), what: lot.of(ON_LIMITS), limits: randomLimits(lot) });

function randomUpgrade(lot: Lot, index: number, spokes: number): UpgradePart {
  const all = Array.from({ length: spokes }, (_, at) => at + 1);
  const some = lot.chance(0.5) ? all : lot.some(all, 0.6);
  const clusters = some.length > 0 ? some : [lot.of(all)];
  return {
    name: `u${index + 1}`,
    at: index === 0 ? 0 : lot.whole(0, 5 * MINUTE),
    clusters,
    canaries: lot.chance(0.2) ? [lot.of(clusters)] : [],
    maxConcurrency: lot.whole(1, clusters.length),
    timeoutMinutes: lot.of([5, 10, 20, 40]),
    ...randomTasks(lot),
    preCaching: lot.chance(0.4),
    backup: lot.chance(0.05),
    enable: lot.chance(0.8),
    abort: lot.chance(0.2),
    ...(index > 0 && lot.chance(0.4) && { after: `u${index}` }),
    ...(lot.chance(0.2) && { waves: { least: lot.of([1, 1, 2]), patienceMinutes: lot.of([1, 3]) } }),
    ...(lot.chance(0.1) && { windowAt: lot.whole(2, 10) * MINUTE }),
  };
}

/** Policies, or works in their place. */
function randomTasks(lot: Lot): Pick<UpgradePart, 'policies' | 'works'> {
  const count = lot.of([1, 1, 2, 2, 3]);
  if (lot.chance(0.25)) return { policies: [], works: count };
  return { policies: Array.from({ length: count }, () => ({ soakSeconds: lot.chance(0.15) ? 120 : 0 })), works: 0 };
}

function randomAct(lot: Lot, spokes: number, upgrades: readonly UpgradePart[]): Act {
  const at = lot.chance(0.7) ? lot.whole(0, BUSY_MS) : lot.whole(0, TROUBLE_MS);
  const { name, policies } = lot.of(upgrades);
  const cluster = lot.whole(1, spokes);
  switch (lot.whole(0, 6)) {
    case 0:
    case 1:
      return { at, what: lot.of([...ON_UPGRADE, 'pause', 'stop']), upgrade: name };
    case 2:
      return { at, what: lot.of(ON_CLUSTER), cluster };
    case 3:
      return { at, what: lot.of(ON_COMPLIANCE), cluster };
    case 4:
      return { at, what: lot.of([...ON_JOBS, ...ON_WORKS]), cluster };
    case 5:
      return { at, what: lot.of(ON_POLICY), upgrade: name, policy: lot.whole(1, Math.max(1, policies.length)) };
    default:
      return { at, what: lot.of(ON_HUB), ms: lot.of(MISHAP_MS) };
  }
}

function randomStorm(lot: Lot): Storm {
  const from = lot.chance(0.7) ? lot.whole(0, BUSY_MS) : lot.whole(0, TROUBLE_MS);
  return {
    from,
    until: from + lot.whole(1, 5) * MINUTE,
    mishaps: lot.of([0.02, 0.1, 0.3]),
    lagMs: lot.of([20, 2_000, 20_000]),
    breaks: lot.of([0, 0.02, 0.2]),
  };
}
