import { Annotation, FlotillaError, findCondition, type ObjectMeta, refKey } from '@flotilla/api';
import type { StatusAnswer } from '@flotilla/api/answers';
import {
  ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeSpec,
  hasFailedPrecache,
  type PrecacheState,
} from '@flotilla/api/ran';
import { findRetry, isRunning, namedClusters, RecordState, retriedPrecaches, retryInRollout, WINDOW_KEYS } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { type UpgradeRef, untilTakenUp, whole } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { type Change, count, look, type PlannedChange, present, steer } from './change.ts';
import { RetryOptions } from './options.ts';

type Planned = PlannedChange<ClusterGroupUpgrade>;

/** `flotilla retry CGU [CLUSTER…]`. */
export const retryUpgrade: Run = async ([name = '', ...clusters], given) => {
  const options = checkOptions(RetryOptions, given);
  if (options.failed && clusters.length > 0)
    throw new FlotillaError('FLOTILLA_CONFIG', `--failed means all that failed: leave it out, or leave out ${clusters.join(' ')}`);
  const { hubNamespace } = options;
  await steer(options, ({ client, refOf }) => planRetry(client, refOf(name), { hubNamespace, clusters }));
};

/** Clusters to try again, and where the hub's Lease is. */
interface RetryWish {
  readonly hubNamespace: string;
  /** All that failed when empty. */
  readonly clusters: readonly string[];
}

/** The change that tries clusters again, or why there is nothing to try. */
export async function planRetry(client: Client, ref: UpgradeRef, { hubNamespace, clusters }: RetryWish): Promise<Planned> {
  const { upgrade, status } = await look(client, ref, hubNamespace);
  const stranger = clusters.find((each) => !namedClusters(upgrade).has(each));
  if (stranger !== undefined)
    return { refused: `${stranger} is no cluster of ${refKey(ref)}: flotilla status ${ref.name} -o json names those that failed` };
  if (status.stage === 'deleting') return { refused: `${refKey(ref)} is being deleted: there is nothing to try again` };
  return hasVerdict(upgrade) ? repeat(client, upgrade, clusters) : tryAgain(client, { upgrade, status }, clusters);
}

const hasVerdict = ({ status }: ClusterGroupUpgrade): boolean =>
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded) !== undefined;

/** Asks the hub to try clusters again in an upgrade that has not ended. */
function tryAgain(
  client: Client,
  { upgrade, status }: { upgrade: ClusterGroupUpgrade; status: StatusAnswer },
  names: readonly string[],
): Planned {
  const key = refKey(upgrade.metadata);
  const ref = { namespace: upgrade.metadata.namespace ?? '', name: upgrade.metadata.name };
  const annotations = {
    [Annotation.retryAt]: new Date().toISOString(),
    [Annotation.retryClusters]: names.length > 0 ? names.join(',') : undefined,
  };
  const asked = withAnnotations(upgrade, annotations);
  const again = clustersAgain(asked);
  const not = (names.length > 0 ? names : failedOf(upgrade)).filter((cluster) => !again.includes(cluster));
  if (again.length === 0)
    return { refused: not.length > 0 ? `nothing is tried again: ${whyNot(upgrade, not)}` : `no cluster of ${key} has failed` };
  if (names.length > 0 && not.length > 0) return { refused: whyNot(upgrade, not) };
  const many = count(again.length, 'cluster', 'clusters');
  // A hub that is asked for all would try those, too, that fail before it takes the request up.
  const named = again.join(',');
  const isNamed = names.length > 0 || named.length <= MOST_NAMED;
  const { batch } = status;
  const pulls = again.filter((cluster) => hasFailed(upgrade.status?.precaching?.status?.[cluster]));
  return {
    kind: ClusterGroupUpgrade,
    object: upgrade,
    annotations: { ...annotations, [Annotation.retryClusters]: isNamed ? named : undefined },
    clusters: again.length,
    chosen: (now) => clustersAgain(withAnnotations(whole(now), annotations)),
    says: [
      isRunning(upgrade)
        ? `${many} ${again.length === 1 ? 'comes' : 'come'} again after batch ${batch.of}: ${listed(again)}`
        : `${many} ${again.length === 1 ? 'pulls' : 'pull'} again: ${listed(again)}`,
      ...(isRunning(upgrade) && pulls.length > 0 ? [`${listed(pulls)} ${pulls.length === 1 ? 'pulls' : 'pull'} first`] : []),
      ...(not.length > 0 ? [whyNot(upgrade, not)] : []),
      ...(isNamed ? [] : ['a cluster that fails before a hub takes this up is tried again, too']),
    ],
    untilTakenUp: () => untilTakenUp(client, ref, (seen) => seen.status?.lastHandledRetryAt === findRetry(asked)?.at),
  };
}

/** Characters of names that one annotation has at most, where nobody typed them: the status of so many clusters is large already. */
const MOST_NAMED = 64 * 1024;

/** The upgrade as it is with these annotations. */
function withAnnotations(upgrade: ClusterGroupUpgrade, annotations: Change<ClusterGroupUpgrade>['annotations']): ClusterGroupUpgrade {
  const { [Annotation.retryClusters]: _, ...others } = upgrade.metadata.annotations ?? {};
  return { ...upgrade, metadata: { ...upgrade.metadata, annotations: { ...others, ...present(annotations) } } };
}

/** Clusters that the hub would try again, by its own rules, if all of them are there. */
function clustersAgain(asked: ClusterGroupUpgrade): string[] {
  const retry = findRetry(asked);
  if (!retry) return [];
  if (!isRunning(asked)) return retriedPrecaches(asked.status?.precaching?.status, retry);
  const before = asked.status ?? { status: {} };
  const left = new Set(retryInRollout(before, retry, () => true).clusters?.map(({ name }) => name));
  return (before.clusters ?? []).flatMap(({ name }) => (left.has(name) ? [] : [name]));
}

const hasFailed = (state: PrecacheState | undefined): boolean => state !== undefined && hasFailedPrecache(state);

/** Clusters whose part has ended and not well. */
function failedOf({ status }: ClusterGroupUpgrade): string[] {
  const recorded = (status?.clusters ?? []).flatMap(({ name, state }) => (state === RecordState.complete ? [] : [name]));
  const pulls = Object.entries(status?.precaching?.status ?? {});
  return [...new Set([...recorded, ...pulls.flatMap(([name, state]) => (hasFailedPrecache(state) ? [name] : []))])];
}

/** Why clusters that were meant are not tried again in an upgrade that goes on. */
function whyNot(upgrade: ClusterGroupUpgrade, clusters: readonly string[]): string {
  const failed = new Set(failedOf(upgrade));
  const [well, early] = [clusters.filter((cluster) => !failed.has(cluster)), clusters.filter((cluster) => failed.has(cluster))];
  const said = [
    ...(well.length > 0 ? [`${listed(well)} ${well.length === 1 ? 'has' : 'have'} not failed`] : []),
    ...(early.length > 0
      ? [
          `${listed(early)} failed the backup before the rollout, and ${early.length === 1 ? 'stays' : 'stay'} out of it: try again when the upgrade has ended`,
        ]
      : []),
  ];
  return said.join('; ');
}

/** Names that a sentence lists at most. */
const MOST_NAMES = 5;

const listed = (names: readonly string[]): string =>
  names.length <= MOST_NAMES ? names.join(', ') : `${names.slice(0, MOST_NAMES).join(', ')} and ${names.length - MOST_NAMES} others`;

/** Creates an upgrade for those that failed in one that has ended. */
async function repeat(client: Client, upgrade: ClusterGroupUpgrade, names: readonly string[]): Promise<Planned> {
  const { namespace = '', name } = upgrade.metadata;
  const done = new Set((upgrade.status?.clusters ?? []).flatMap((each) => (each.state === RecordState.complete ? [each.name] : [])));
  const well = names.filter((cluster) => done.has(cluster));
  if (well.length > 0) return { refused: `${listed(well)} ${well.length === 1 ? 'has' : 'have'} not failed in ${namespace}/${name}` };
  const clusters = names.length > 0 ? [...new Set(names)] : failedOf(upgrade);
  if (clusters.length === 0) return { refused: `no cluster of ${namespace}/${name} has failed: name those to try again` };
  const { items } = await client.list(ClusterGroupUpgrade, { namespace });
  const other = items.find((each) => each.metadata.annotations?.[Annotation.retryOf] === `${namespace}/${name}` && !hasVerdict(each));
  if (other)
    return {
      refused: `${namespace}/${other.metadata.name} tries clusters of it again already: flotilla status ${other.metadata.name} -n ${namespace}`,
    };
  if (!upgrade.spec) return { refused: `${namespace}/${name} has no spec to repeat` };
  const object = repetitionOf(upgrade.metadata, upgrade.spec, clusters, new Set(items.map(({ metadata }) => metadata.name)));
  const ref = { namespace, name: object.metadata.name };
  const fixed = object.metadata.annotations?.[Annotation.windowEnd];
  return {
    kind: ClusterGroupUpgrade,
    object,
    isNew: true,
    annotations: object.metadata.annotations ?? {},
    clusters: clusters.length,
    chosen: () => clusters,
    says: [
      `tries ${count(clusters.length, 'cluster', 'clusters')} again, with the same spec: ${listed(clusters)}`,
      ...(fixed !== undefined && Date.parse(fixed) <= Date.now()
        ? [`its window ended at ${fixed}: set another with flotilla window set ${ref.name} -n ${namespace}`]
        : []),
    ],
    undo: { command: `kubectl delete cgu ${ref.name} -n ${namespace}` },
    untilTakenUp: () => untilTakenUp(client, ref, ({ status }) => (status?.conditions?.length ?? 0) > 0),
  };
}

/** Annotations by which the repetition begins as the first did. */
const KEPT = [
  ...Object.values(WINDOW_KEYS),
  Annotation.blockingCompletionMode,
  Annotation.blockingClusterFiltering,
  Annotation.proofWithin,
  Annotation.pins,
];

/**
 * The same upgrade for these clusters alone. Labels are not taken along: tools that own the first one by them would delete what they do not know.
 * @param taken names of upgrades that are there
 */
function repetitionOf(
  metadata: ObjectMeta,
  spec: ClusterGroupUpgradeSpec,
  clusters: readonly string[],
  taken: ReadonlySet<string>,
): ClusterGroupUpgrade {
  const { namespace = '', name, annotations = {} } = metadata;
  const base = name.replace(/-retry-\d+$/, '');
  let number = 1;
  while (taken.has(`${base}-retry-${number}`)) number += 1;
  const { clusterSelector: _, clusterLabelSelectors: __, remediationStrategy: strategy, ...rest } = spec;
  const canaries = strategy.canaries?.filter((canary) => clusters.includes(canary));
  return {
    metadata: {
      namespace,
      name: `${base}-retry-${number}`,
      annotations: {
        ...Object.fromEntries(KEPT.flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]]))),
        [Annotation.retryOf]: `${namespace}/${name}`,
      },
    },
    spec: { ...rest, clusters: [...clusters], remediationStrategy: { ...strategy, canaries } },
  };
}
