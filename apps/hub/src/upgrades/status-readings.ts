/**
 * Derives what others read of a status. Tools that know nothing of upgrades: `Ready`, `Stalled` while somebody has to act, generations, edits that
 * do not count. `kubectl get -o wide`: four values, because a column can only show a field. People: what clusters wait for. Pure.
 */
import { type Condition, conditionTime, datedCondition, findCondition } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeStatus, ClusterGroupUpgradeCondition as Type } from '@flotilla/api/ran';
import {
  describeIgnoredEdits,
  effectOf,
  estimateEnd,
  Inquiry,
  isEnding,
  isRunning,
  lastBatch,
  NOTHING_OF_CLUSTERS,
  RecordState,
  type Stall,
  summarizeWaits,
} from '@flotilla/rollout';
import type { WatchCache } from '@flotilla/runtime';
import { orAbsent } from './status-budget.ts';

/** Surroundings of a reading. */
interface ReadingOptions {
  /** State no more than the reference does. */
  readonly talmStrict: boolean;
  readonly now: Date;
  /** Wait of the pass that ends by somebody alone. */
  readonly stall?: Stall | undefined;
}

type Text = Pick<Condition, 'reason' | 'message'>;

/** Conditions that this file alone sets. */
const OWN: readonly string[] = [Type.ready, Type.stalled, Type.editsIgnored];
/** Conditions that end an upgrade's way until somebody corrects what their message names. */
const REFUSALS: readonly string[] = [Type.clustersSelected, Type.validated, Type.precacheSpecValid];

/**
 * The status that says of its generation what is so, whichever hub wrote the rest of it, in whichever mode. An upgrade that has ended is read again
 * by each leader.
 * @param upgrade with its stored status
 * @param status what a pass made of it, or the stored one
 */
export function withReading(
  upgrade: ClusterGroupUpgrade,
  status: ClusterGroupUpgradeStatus,
  { talmStrict, now, stall }: ReadingOptions,
): ClusterGroupUpgradeStatus {
  const others = (status.conditions ?? []).filter(({ type }) => !OWN.includes(type));
  if (talmStrict) {
    const conditions = status.conditions && others.map((condition) => ({ ...condition, observedGeneration: undefined }));
    // By what an upgrade has ended is read by the hub after this one; no other reader knows the field.
    const effect = isEnding({ ...upgrade, status }) ? status.effect : undefined;
    return { ...status, observedGeneration: undefined, effect, conditions };
  }
  const { generation } = upgrade.metadata;
  const effect = effectOf(upgrade, status);
  const edits = describeIgnoredEdits(upgrade, effect);
  const own = ownConditions(others, { stall, ignored: edits === undefined ? undefined : { reason: 'EditsIgnored', message: edits } });
  const before = upgrade.status?.conditions ?? [];
  // From the start on every condition holds for the spec, but for the edits that are named; before it, one that was not judged keeps its generation.
  const holdsAll = isRunning({ ...upgrade, status }) || findCondition(others, Type.succeeded) !== undefined;
  const conditions = [
    ...own.map((condition) => datedCondition(before, { ...condition, ...stamp(generation) }, now.getTime())),
    ...(holdsAll ? others.map((condition) => ({ ...condition, ...stamp(generation) })) : others),
  ];
  return { ...status, observedGeneration: generation, effect, conditions: status.conditions && conditions };
}

const stamp = (generation: number | undefined) => (generation === undefined ? {} : { observedGeneration: generation });

/** They stand before all others, because the last condition is the state that users see. */
function ownConditions(
  others: readonly Condition[],
  { stall, ignored }: { readonly stall: Text | undefined; readonly ignored: Text | undefined },
): Omit<Condition, 'lastTransitionTime'>[] {
  const last = others.at(-1);
  if (!last) return [];
  const verdict = findCondition(others, Type.succeeded);
  const refusal = REFUSALS.map((type) => findCondition(others, type)).find(
    (condition) => condition?.status === 'False' && condition.reason !== 'WaitingForMembers',
  );
  const stopped = others.find(({ type, reason }) => type === Type.progressing && reason === 'UnexpectedCluster');
  const obstacle = verdict ? (verdict.status === 'True' ? ignored : verdict) : (refusal ?? stall ?? stopped);
  const isReady = verdict?.status === 'True' && obstacle === undefined;
  const condition = (type: string, isTrue: boolean, { reason, message }: Text) =>
    ({ type, status: isTrue ? 'True' : 'False', reason, message }) as const;
  return [
    condition(Type.ready, isReady, obstacle ?? verdict ?? last),
    ...(obstacle ? [condition(Type.stalled, true, obstacle)] : []),
    ...(ignored ? [condition(Type.editsIgnored, true, ignored)] : []),
  ];
}

/** The status with its summary; without one before there is a plan. None of its values changes more often than the states it is made of. */
export function withSummary(upgrade: ClusterGroupUpgrade, status: ClusterGroupUpgradeStatus): ClusterGroupUpgradeStatus {
  const { remediationPlan: batches = [], precaching, clusters = [] } = status;
  const states = Object.values(precaching?.status ?? {});
  if (batches.length === 0 && states.length === 0) return { ...status, summary: undefined };
  const end = isEnding({ ...upgrade, status }) ? undefined : estimateEnd({ ...upgrade, status });
  return {
    ...status,
    summary: {
      cached: states.length > 0 ? `${states.filter((state) => state === 'Succeeded').length}/${states.length}` : undefined,
      batch: batches.length > 0 ? `${lastBatch(status)}/${batches.length}` : undefined,
      failed: clusters.filter(({ state }) => state !== RecordState.complete).length,
      eta: end === undefined ? undefined : conditionTime(end),
    },
  };
}

/** Facts beside the status. */
interface WaitFacts {
  readonly caches: {
    readonly upgrades: Pick<WatchCache<ClusterGroupUpgrade>, 'get'>;
    readonly clusters: Pick<WatchCache<ManagedCluster>, 'get'>;
  };
  /** Since when clusters do not comply any more, milliseconds since the epoch. */
  readonly fallenSince?: ReadonlyMap<string, number> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Objects of single clusters say who is to blame, not what is waited for. */
const SKIPPED = { kind: 'skipped' } as const;

/** The status with its waits, as `flotilla why` answers them for one cluster; none once there is a verdict. */
export function withWaits(
  upgrade: ClusterGroupUpgrade,
  status: ClusterGroupUpgradeStatus,
  { caches, fallenSince = new Map(), now }: WaitFacts,
): ClusterGroupUpgradeStatus {
  const inquiry = new Inquiry({
    upgrade: { ...upgrade, status: { ...status, waits: upgrade.status?.waits } },
    now,
    hub: SKIPPED,
    cluster: (name) => ({ kind: 'read', object: caches.clusters.get({ name }) }),
    upgradeAt: (ref) => ({ kind: 'read', object: caches.upgrades.get(ref) }),
    ...NOTHING_OF_CLUSTERS,
  });
  const since = new Map([...fallenSince].map(([cluster, at]) => [cluster, conditionTime(at)]));
  return { ...status, waits: orAbsent(summarizeWaits(inquiry, since)) };
}
