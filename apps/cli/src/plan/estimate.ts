/** Looks up what an upgrade pulls, and what its clusters have of it. */
import { FlotillaError, refKey } from '@flotilla/api';
import type { PlanAnswer } from '@flotilla/api/answers';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { type ClusterPull, estimatePull, isSameSoftware, type ObservedUpgrade, type UpgradePlan } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { allExcludedSentence } from '@flotilla/software';
import { nextStep } from '../complain.ts';
import { consent } from '../steer/print.ts';
import { writeErr } from '../terminal/output.ts';
import { contentSentence, type ImageLookup, type ListedImages, openImageLookup, skippedSentence, unreadImage } from './images.ts';
import { chooseTransports, type InspectTarget, inspectClusters } from './inspect/inspect.ts';
import { findPullerImage } from './inspect/puller-image.ts';
import type { Outcome } from './inspect/transport.ts';
import { type Left, readLeft } from './left.ts';
import type { PlanOptions } from './options.ts';
import { architectureOf, earlierKey, planPulls } from './pulls.ts';

/** Architecture of clusters of which nobody says it, where no cluster of the plan does. */
const USUAL = 'amd64';
/** Most architectures of a fleet that are looked up. */
const MOST_ARCHITECTURES = 6;
/** Images that could not be read, of which an answer says the cause. */
const MOST_UNRESOLVED = 10;

/** A plan, and what it was made of. */
interface Planned {
  readonly observed: ObservedUpgrade;
  readonly spec: ClusterGroupUpgradeSpec;
  readonly plan: UpgradePlan;
}

/** Images and pulls of a plan; notes say what could not be looked at. */
export async function estimatePulls(
  client: Client,
  { observed, spec, plan }: Planned,
  options: PlanOptions,
  notes: string[],
): Promise<{ images: PlanAnswer['images']; pulls: ClusterPull[] }> {
  const clusters = spec.preCaching ? plan.precachingClusters : [];
  const managed = new Map(observed.managed.map((each) => [each.metadata.name, each]));
  const wanted = plan.precaching?.spec;
  const { spec: pulled, status: states = {} } = observed.upgrade.status?.precaching ?? {};
  // Images that were pulled before an edit are not those of the plan.
  const isPulled = wanted === undefined || (pulled !== undefined && isSameSoftware(pulled, wanted));
  const done = new Set(clusters.filter((cluster) => isPulled && states[cluster] === 'Succeeded'));
  if (!wanted || !options.images || clusters.length === 0) {
    const nothing = { list: undefined, source: { kind: 'unknown', why: 'not looked at' } as const };
    const pulls = clusters.map((cluster) => estimatePull({ cluster, ...(done.has(cluster) ? DONE : nothing) }));
    return { images: undefined, pulls };
  }
  await using lookup = await openImageLookup(options);
  const lists = await lookUpAll(lookup, wanted, architecturesOf({ clusters, managed }), notes);
  const left = lists.size > 0 ? await readLeft(client, refKey(observed.upgrade.metadata)) : NOTHING_LEFT;
  notes.push(...new Set(left.notes));
  const known = { clusters, managed, done, lists, left, rate: options.rate, configAnnotations: observed.config?.metadata.annotations };
  const inspections = options.inspect ? await inspectAll(client, { ...known, observed, lookup, wanted }, options, notes) : undefined;
  const earlierLists = await lookUpEarlier(
    lookup,
    { lists, left, open: clusters.filter((cluster) => isOpen(cluster, done, inspections)) },
    notes,
  );
  return { images: describeImages(lists, { clusters, managed }, notes), pulls: planPulls({ ...known, earlierLists, inspections }) };
}

const DONE = {
  list: { images: 0, bytes: 0 },
  source: { kind: 'done' } as const,
  needs: { missingImages: 0, missingBytes: 0 },
  required: 0,
};
const NOTHING_LEFT: Left = { reports: new Map(), earlier: [], notes: [] };

const isOpen = (cluster: string, done: ReadonlySet<string>, inspections: ReadonlyMap<string, Outcome> | undefined): boolean => {
  const inspection = inspections?.get(cluster);
  return !done.has(cluster) && (inspection === undefined || 'why' in inspection);
};

interface Fleet {
  readonly clusters: readonly string[];
  readonly managed: ReadonlyMap<string, ManagedCluster>;
}

/** Architectures of the clusters, that of the most clusters first. */
function architecturesOf({ clusters, managed }: Fleet): string[] {
  const counts = Map.groupBy(clusters, (cluster) => architectureOf(managed.get(cluster)));
  counts.delete(undefined);
  const found = [...counts].toSorted(([, one], [, other]) => other.length - one.length).flatMap(([architecture]) => architecture ?? []);
  return found.length === 0 ? [USUAL] : found.slice(0, MOST_ARCHITECTURES);
}

async function lookUpAll(
  lookup: ImageLookup,
  wanted: Parameters<ImageLookup['lookUp']>[0],
  architectures: readonly string[],
  notes: string[],
): Promise<Map<string, ListedImages>> {
  const lists = new Map<string, ListedImages>();
  for (const architecture of architectures) {
    try {
      lists.set(architecture, await lookup.lookUp(wanted, architecture));
    } catch (error) {
      notes.push(`the images for ${architecture} could not be looked up from here: ${nextStep(error)}`);
    }
  }
  return lists;
}

/** Looks up the images of earlier pulls, where they say something of a cluster that nobody has looked at. */
async function lookUpEarlier(
  lookup: ImageLookup,
  { lists, left, open }: { readonly lists: ReadonlyMap<string, ListedImages>; readonly left: Left; readonly open: readonly string[] },
  notes: string[],
): Promise<Map<string, ListedImages>> {
  const found = new Map<string, ListedImages>();
  for (const { by, spec, clusters } of left.earlier) {
    if (!open.some((cluster) => clusters.has(cluster))) continue;
    for (const architecture of lists.keys()) {
      try {
        found.set(earlierKey(by, architecture), await lookup.lookUp(spec, architecture));
      } catch (error) {
        notes.push(`the images that ${by} pulled could not be looked up from here: ${nextStep(error)}`);
      }
    }
  }
  return found;
}

function describeImages(lists: ReadonlyMap<string, ListedImages>, fleet: Fleet, notes: string[]): PlanAnswer['images'] {
  const [main, ...others] = architecturesOf(fleet).flatMap((architecture) => lists.get(architecture) ?? []);
  if (!main) return undefined;
  for (const other of others) notes.push(`for linux/${other.architecture} ${contentSentence(other)}`);
  if (main.tags.length > 0)
    notes.push(
      `${main.tags.slice(0, 3).join(', ')}${main.tags.length > 3 ? ' and others are' : ' is'} no digest: figures are so today only`,
    );
  notes.push(...[skippedSentence(main), allExcludedSentence(main)].filter((note) => note !== undefined));
  const { images, list, bytes, architecture, unresolved } = main;
  return {
    count: images.length,
    layers: list.layers.length,
    bytes,
    unread: unresolved.length,
    platform: `linux/${architecture}`,
    unresolved: unresolved.slice(0, MOST_UNRESOLVED).map(unreadImage),
  };
}

interface Inspected extends Fleet {
  readonly lists: Map<string, ListedImages>;
  readonly observed: ObservedUpgrade;
  readonly lookup: ImageLookup;
  readonly wanted: Parameters<ImageLookup['lookUp']>[0];
}

/**
 * Asks first, then inspects every cluster; those whose node has another architecture than was thought once more, with its own images.
 * @throws FlotillaError where the asker says no
 */
async function inspectAll(client: Client, of: Inspected, options: PlanOptions, notes: string[]): Promise<Map<string, Outcome>> {
  const { clusters, managed, lists, observed, wanted } = of;
  const image = await findPullerImage(client, {
    given: options.pullerImage,
    configured: observed.config?.spec?.overrides?.preCacheImage,
    hubNamespace: options.hubNamespace,
  });
  const targetsFor = (names: readonly string[], architecture: (cluster: string) => string | undefined): InspectTarget[] =>
    names.flatMap((cluster) => {
      const list = lists.get(architecture(cluster) ?? '') ?? lists.values().next().value;
      const object = managed.get(cluster);
      return list && object ? [{ managed: object, list: list.list }] : [];
    });
  const targets = targetsFor(clusters, (cluster) => architectureOf(managed.get(cluster)));
  const transports = await chooseTransports(client, targets);
  await ask([...new Set([...transports.values()].map(({ writes }) => writes))], { image, count: targets.length }, options);
  using interruption = untilInterrupted();
  const how = { image, withinMs: options.inspectTimeout, dryRun: options.dryRun, signal: interruption.signal };
  const found = await inspectClusters(client, transports, how);
  const strange = new Map<string, string>();
  for (const [cluster, inspection] of found) {
    const supposed = architectureOf(managed.get(cluster)) ?? lists.keys().next().value;
    if ('inventory' in inspection && inspection.inventory.architecture !== supposed)
      strange.set(cluster, inspection.inventory.architecture);
  }
  const others = [...new Set(strange.values())].filter((architecture) => !lists.has(architecture));
  for (const [architecture, list] of await lookUpAll(of.lookup, wanted, others.slice(0, MOST_ARCHITECTURES), notes))
    lists.set(architecture, list);
  const known = [...strange].filter(([, architecture]) => lists.has(architecture)).map(([cluster]) => cluster);
  const again = await chooseTransports(
    client,
    targetsFor(known, (cluster) => strange.get(cluster)),
  );
  for (const [cluster, inspection] of await inspectClusters(client, again, how)) found.set(cluster, inspection);
  for (const [cluster, inspection] of found) if ('left' in inspection) notes.push(`${cluster}: ${inspection.left}`);
  return found;
}

async function ask(
  writes: readonly string[],
  { image, count }: { readonly image: string; readonly count: number },
  { yes, dryRun }: PlanOptions,
): Promise<void> {
  if (yes || dryRun || count === 0) return;
  const says = [
    `a Job in namespace flotilla-inspect of each looks at the store of one node, with image ${image}; it reads, and asks no registry`,
    `on the hub: ${writes.join('; ')} in the namespace of each; all of it is taken away when the answer is there`,
  ];
  const object = 'an inspection of what nodes have';
  if (await consent({ object, outcome: 'changed', annotations: [], clusters: count, says })) return;
  throw new FlotillaError('FLOTILLA_DECLINED', 'nothing was inspected: leave --inspect out for a plan without');
}

/** A signal that Ctrl-C, a closed terminal or an end from outside aborts; what has begun is then taken away before the command ends. */
function untilInterrupted(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (): void => {
    if (!stop.signal.aborted) writeErr('flotilla: interrupted, taking away what the inspection had begun\n');
    stop.abort();
  };
  for (const name of names) process.on(name, onSignal);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
