/** The end of an upgrade that is not asked for any more: before the cluster was sent it is taken back, and its owners are told. */
import {
  EndReason,
  NotificationState,
  UPGRADE_CONFIG_NAME,
  UpgradeConfig,
  type UpgradeHistory,
  VERSION_ANNOTATION,
} from '@flotilla/api/managed';
import { type EventToRecord, eventSubject } from '@flotilla/runtime';
import {
  askedMessage,
  hasCompleted,
  isCommenced,
  isSent,
  isWithdrawn,
  type ObservedCluster,
  surgeRemains,
  type UpgradeBeginning,
} from '@flotilla/upgrade';
import { notify, type Pass, type PassDeps } from './phases.ts';
import type { UpgradeDraft } from './status.ts';

/** Ends the attempt of a pass. Leftovers that cannot be taken back now are taken back later, and do not hold up the next attempt. */
export async function withdraw(pass: Pass, wanted: UpgradeBeginning): Promise<void> {
  const { cluster, draft, leftovers, ports, save, timers, logger, signal } = pass;
  leftovers.owe();
  timers.requeueAfter((await leftovers.takeBack(cluster, cluster.clusterVersion, signal)).afterMs);
  if (wasStartTold(draft.entry)) await notify(pass, NotificationState.cancelled);
  ports.metrics.resetFailed();
  const why = askedMessage('the UpgradeConfig', wanted);
  draft.enter('Failed');
  draft.sayEnded(EndReason.withdrawn, why);
  await save();
  logger.info({ version: draft.entry.version, reason: why }, 'The upgrade was withdrawn before it changed anything');
  // The next pass looks at what is asked for instead.
  timers.requeueAfter(0);
}

const wasStartTold = ({ notifications = [] }: UpgradeHistory): boolean =>
  notifications.some(({ state }) => state === NotificationState.started);

/** Tells of withdrawn attempts what could not be told at their end. */
export async function tellOfWithdrawn(pass: Pass): Promise<void> {
  for (const entry of pass.draft.earlier)
    if (isWithdrawn(entry) && entry.notifications?.some(({ state, time }) => state === NotificationState.cancelled && time === undefined))
      await notify(pass, NotificationState.cancelled, { of: entry });
}

/** Remembers the upgrade that was under way when its UpgradeConfig was deleted: in this process, else by what an earlier one has left of it. */
export class Farewell {
  #last: { readonly upgradeConfig: UpgradeConfig; readonly draft: Pick<UpgradeDraft, 'entry'> } | undefined;
  #knowsEarlier = false;
  #isTakenUp = false;
  #isUnattended = false;

  /** Keeps the upgrade of a pass while it is under way, and forgets it once it has ended. */
  remember(upgradeConfig: UpgradeConfig, draft: UpgradeDraft): void {
    const isUnderWay = draft.entry.phase === 'Upgrading';
    if (!isUnderWay && this.#last?.upgradeConfig.metadata.uid !== upgradeConfig.metadata.uid) return;
    this.#last = isUnderWay ? { upgradeConfig, draft } : undefined;
    this.#isTakenUp = false;
    this.#isUnattended = false;
  }

  /** Looks for one of an earlier process, until it is known whether there was any. Whatever it left was made after its start was told. */
  async inherit(
    isAsked: boolean,
    cluster: ObservedCluster | undefined,
    { ports, namespace }: InheritDeps,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#knowsEarlier || (!isAsked && !cluster)) return;
    const left = isAsked || !cluster ? undefined : await originOf(cluster, ports.silences, signal);
    this.#knowsEarlier = left !== 'unknown';
    if (!cluster || left === undefined || left === 'unknown' || isReached(cluster, left.version)) return;
    this.#last = { upgradeConfig: formerConfig(namespace, left), draft: { entry: formerEntry(left) } };
  }

  /** Looks after the one that was deleted, if any was. @param uid of the UpgradeConfig that is there */
  async say(uid: string | undefined, cluster: ObservedCluster | undefined, { leftovers, outbox, ports }: PassDeps): Promise<void> {
    const last = this.#last;
    if (!last || last.upgradeConfig.metadata.uid === uid) return;
    const { upgradeConfig, draft } = last;
    if (isSent({ upgradeConfig, entry: draft.entry }, cluster?.clusterVersion)) {
      this.#last = undefined;
      leftovers.expectSilences();
      if (cluster) this.sayUnattended(cluster, eventSubject(UpgradeConfig, upgradeConfig), ports);
      return;
    }
    if (!this.#isTakenUp) leftovers.owe();
    this.#isTakenUp = true;
    const notification = { state: NotificationState.cancelled, upgradeConfig, entry: draft.entry };
    if (!wasStartTold(draft.entry) || (await outbox.tell(notification)).isTold) this.#last = undefined;
  }

  /** Says once that the cluster goes on without an UpgradeConfig. */
  sayUnattended({ clusterVersion }: ObservedCluster, regarding: EventToRecord['regarding'], ports: PassDeps['ports']): void {
    if (this.#isUnattended) return;
    this.#isUnattended = true;
    const { version = '', image = '' } = clusterVersion.spec.desiredUpdate ?? {};
    const goal = version || image || clusterVersion.status?.desired?.version;
    const note = `There is no UpgradeConfig any more: the cluster goes on to ${goal}; extra workers and silences go once it is there`;
    ports.events.record({ type: 'Warning', reason: 'UpgradeConfigDeleted', action: 'Judge', note, regarding });
  }
}

interface InheritDeps {
  readonly ports: Pick<PassDeps['ports'], 'silences'>;
  readonly namespace: string;
}

/** An upgrade, by what is left of it. */
interface Origin {
  readonly version: string;
  /** A time after its start and before anything else was told of it. */
  readonly startsAt: string;
}

/** Others may write annotations, and owners are told of the version. */
const VERSION = /^[\w.+-]{1,128}$/;

/** Finds the upgrade for which something was made; unknown while Alertmanager does not answer. */
async function originOf(
  cluster: ObservedCluster,
  silences: InheritDeps['ports']['silences'],
  signal: AbortSignal,
): Promise<Origin | 'unknown' | undefined> {
  for (const { metadata } of surgeRemains(cluster).sets) {
    const version = metadata.annotations?.[VERSION_ANNOTATION];
    if (version !== undefined && VERSION.test(version)) return { version, startsAt: metadata.creationTimestamp ?? '' };
  }
  try {
    return await silences.controlPlane(signal);
  } catch {
    signal.throwIfAborted();
    // The taking back of silences, which follows, says what is wrong.
    return 'unknown';
  }
}

/** The cluster was sent to the version, or is there. */
const isReached = ({ clusterVersion }: ObservedCluster, version: string): boolean =>
  isCommenced(clusterVersion, { kind: 'version', version, channel: '' }) || hasCompleted(clusterVersion, version);

/** As much of a deleted UpgradeConfig as its notification needs. */
const formerConfig = (namespace: string, { version, startsAt }: Origin): UpgradeConfig => ({
  metadata: { namespace, name: UPGRADE_CONFIG_NAME, uid: '' },
  spec: { type: 'OSD', upgradeAt: startsAt, PDBForceDrainTimeout: 0, desired: { version } },
});

const formerEntry = ({ version, startsAt }: Origin): UpgradeHistory => ({
  version,
  phase: 'Failed',
  startTime: startsAt,
  notifications: [{ state: NotificationState.started, time: startsAt }],
});

/** The UpgradeConfig that is not there, for events. */
export const absentSubject = (namespace: string): EventToRecord['regarding'] =>
  eventSubject(UpgradeConfig, { metadata: { namespace, name: UPGRADE_CONFIG_NAME } });
