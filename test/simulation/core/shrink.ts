import type { Outcome } from './play.ts';
import type { Story, UpgradePart } from './story.ts';

/** Bound of the runs that a story is cut down by. */
const MOST_RUNS = 300;

/** The same story without one of its parts, each in its turn; the largest parts first. */
function* smaller(story: Story): Generator<Story> {
  const without = <K extends 'upgrades' | 'acts' | 'storms'>(key: K, index: number): Story => ({
    ...story,
    [key]: story[key].toSpliced(index, 1),
  });
  if (story.acts.length > 1) {
    yield { ...story, acts: story.acts.slice(story.acts.length / 2) };
    yield { ...story, acts: story.acts.slice(0, story.acts.length / 2) };
  }
  for (const index of story.storms.keys()) yield without('storms', index);
  for (const index of story.acts.keys()) yield without('acts', index);
  if (story.upgrades.length > 1) for (const index of story.upgrades.keys()) yield without('upgrades', index);
  if (story.operated) yield { ...story, operated: undefined };
  if (story.hubs > 1) yield { ...story, hubs: 1 };
  if (story.spokes > 1) yield withFewerSpokes(story, Math.floor(story.spokes / 2));
  if (story.spokes > 2) yield withFewerSpokes(story, story.spokes - 1);
  for (const [index, upgrade] of story.upgrades.entries())
    for (const part of simpler(upgrade)) yield { ...story, upgrades: story.upgrades.with(index, { ...upgrade, ...part }) };
}

/** Parts of an upgrade that are less than they are. */
function simpler({ policies, clusters, ...upgrade }: UpgradePart): Partial<UpgradePart>[] {
  const cuts: readonly [boolean, Partial<UpgradePart>][] = [
    [policies.length > 1, { policies: policies.slice(0, -1) }],
    [upgrade.works > 1, { works: upgrade.works - 1 }],
    [upgrade.preCaching, { preCaching: false }],
    [upgrade.backup, { backup: false }],
    [upgrade.canaries.length > 0, { canaries: [] }],
    [upgrade.windowAt !== undefined, { windowAt: undefined }],
    [!upgrade.enable, { enable: true }],
    [clusters.length > 1, { clusters: clusters.slice(0, -1) }],
    [policies.some(({ soakSeconds }) => soakSeconds > 0), { policies: policies.map(() => ({ soakSeconds: 0 })) }],
  ];
  return cuts.flatMap(([isMore, part]) => (isMore ? [part] : []));
}

function withFewerSpokes(story: Story, spokes: number): Story {
  const isThere = (cluster: number): boolean => cluster <= spokes;
  const upgrades = story.upgrades.map((upgrade) => ({
    ...upgrade,
    clusters: upgrade.clusters.filter(isThere),
    canaries: upgrade.canaries.filter(isThere),
  }));
  return {
    ...story,
    spokes,
    upgrades: upgrades.filter(({ clusters }) => clusters.length > 0),
    acts: story.acts.filter((act) => !('cluster' in act) || isThere(act.cluster)),
    operated: story.operated && isThere(story.operated.cluster) ? story.operated : undefined,
  };
}

/** A story whose upgrades name only each other: what is left of one must stand by itself. */
function isWhole({ upgrades, acts, operated }: Story): boolean {
  const names = new Set(upgrades.map(({ name }) => name));
  return (
    upgrades.length > 0 &&
    acts.every((act) => !('upgrade' in act) || names.has(act.upgrade)) &&
    (operated === undefined || names.has(operated.upgrade)) &&
    upgrades.every(({ after }) => after === undefined || names.has(after))
  );
}

/** Cuts a story down to the shortest one found in which the same property does not hold. */
export async function shrink(story: Story, property: string, play: (story: Story) => Promise<Outcome>): Promise<Story> {
  let shortest = story;
  let runs = 0;
  const cut = async (): Promise<boolean> => {
    for (const candidate of smaller(shortest)) {
      if (runs >= MOST_RUNS) return false;
      if (!isWhole(candidate)) continue;
      runs += 1;
      const { violation } = await play(candidate);
      if (violation?.property !== property) continue;
      shortest = candidate;
      return true;
    }
    return false;
  };
  while (await cut());
  return shortest;
}
