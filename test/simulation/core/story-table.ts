import type { Act, OperatedPart, Story, UpgradePart } from './story.ts';

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`.padStart(9);

/** A story for people: one line for each thing that somebody does or that goes wrong, in order. */
export function storyTable({ seed, spokes, transport, hubs, upgrades, acts, storms, operated, limits }: Story): string[] {
  const lines = [
    ...upgrades.map((upgrade) => ({ at: upgrade.at, says: describeUpgrade(upgrade) })),
    ...acts.map((act) => ({ at: act.at, says: describeAct(act) })),
    ...storms.map(({ from, until, mishaps, lagMs, breaks }) => ({
      at: from,
      says: `until ${seconds(until).trim()} ${mishaps * 100} % of calls have mishaps, watches lag up to ${lagMs} ms, ${breaks * 100} % of events break theirs`,
    })),
  ].toSorted((a, b) => a.at - b.at);
  const parts = [
    `seed ${seed}: ${spokes} spokes by ${transport}`,
    `${hubs} ${hubs === 1 ? 'hub' : 'hubs'}`,
    ...(operated ? [describeOperated(operated)] : []),
    ...(limits ? [`limits ${JSON.stringify(limits)}`] : []),
  ];
  const head = parts.join(', ');
  return [head, ...lines.map(({ at, says }) => `${seconds(at)}  ${says}`)];
}

const describeOperated = ({ cluster, upgrade, notBefore, isKept }: OperatedPart): string =>
  `operators on spoke-${cluster} for ${upgrade}, not before ${seconds(notBefore).trim()}${isKept ? ', kept' : ''}`;

function describeUpgrade(upgrade: UpgradePart): string {
  const { name, clusters, canaries, maxConcurrency, timeoutMinutes, policies, works, windowAt, after } = upgrade;
  const tasks = works > 0 ? `${works} works` : `${policies.length} policies`;
  const soaks = policies.filter(({ soakSeconds }) => soakSeconds > 0).length;
  return [
    `${name} is asked for: clusters ${clusters.join(', ')}, ${maxConcurrency} at a time, ${timeoutMinutes} min, ${tasks}`,
    ...(soaks > 0 ? [`${soaks} soak`] : []),
    ...(canaries.length > 0 ? [`canary ${canaries.join(', ')}`] : []),
    ...(upgrade.preCaching ? ['pre-cached'] : []),
    ...(upgrade.backup ? ['backed up'] : []),
    ...(upgrade.enable ? [] : ['not enabled']),
    ...(upgrade.abort ? ['aborts'] : []),
    ...(after === undefined ? [] : [`after ${after}`]),
    ...(windowAt === undefined ? [] : [`window from ${seconds(windowAt).trim()}`]),
  ].join(', ');
}

function describeAct(act: Act): string {
  if ('limits' in act) return `${act.what} ${JSON.stringify(act.limits)}`;
  if ('policy' in act) return `${act.what} ${act.policy} of ${act.upgrade}`;
  if ('upgrade' in act) return `${act.what} ${act.upgrade}`;
  if ('operator' in act) return `${act.what}, ${act.operator} operator, ${act.ms} ms`;
  if ('cluster' in act) return `${act.what} spoke-${act.cluster}`;
  return `${act.what} ${act.ms} ms`;
}
