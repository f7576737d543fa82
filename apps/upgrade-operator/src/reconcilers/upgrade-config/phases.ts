/** Looks at an upgrade in each of its phases, and does the work of that phase. */
import { errorMessage } from '@flotilla/api';
import {
  EndReason,
  FeatureGateName,
  NotificationState,
  UpgradeCondition,
  type UpgradeConfig,
  UpgradeConfig as UpgradeConfigKind,
  type UpgradeHistory,
  type UpgradePhase,
  type UpgradeType,
} from '@flotilla/api/managed';
import type { Client, Clock, Logger } from '@flotilla/runtime';
import type { ManagedUpgradeLook } from '@flotilla/upgrade';
import {
  isCommenced,
  isEarly,
  isSent,
  type ObservedCluster,
  scheduleOf,
  streamOf,
  targetOf,
  type UpgradeTarget,
  upgraders,
  validate,
} from '@flotilla/upgrade';
import type { Caches } from '../../caches.ts';
import type { ClusterWrites } from '../../cluster-writes.ts';
import type { NodeDrains } from '../../drain/node-drains.ts';
import type { NotificationOutbox } from '../../notification-outbox.ts';
import type { OperatorConfig } from '../../operator-config/schema.ts';
import type { Ports } from '../../ports.ts';
import { type Step, type StepContext, type Told, WithdrawnError } from '../../steps/step.ts';
import { assertAsked, closeOpenWindows, giveUp, walkSteps, whileAsked } from './apply.ts';
import type { Leftovers } from './leftovers.ts';
import { givesUpAt, poolFacts } from './plan.ts';
import type { Retries, Timers } from './retries.ts';
import { FailureReason, type UpgradeDraft, ValidationReason } from './status.ts';

/** Dependencies of a pass that outlive it. */
export interface PassDeps {
  readonly client: Pick<Client, 'get' | 'patch'>;
  readonly ports: Ports;
  readonly writes: ClusterWrites;
  readonly drains: NodeDrains;
  /** The steps of an upgrade, in order. */
  readonly steps: (type: UpgradeType, config: OperatorConfig) => readonly Step[];
  readonly outbox: NotificationOutbox;
  readonly leftovers: Leftovers;
  readonly retries: Retries;
  readonly caches: Pick<Caches, 'upgradeConfigs'>;
  readonly clock: Clock;
}

/** One pass over the UpgradeConfig. */
export interface Pass extends PassDeps {
  readonly upgradeConfig: UpgradeConfig;
  readonly cluster: ObservedCluster;
  readonly config: OperatorConfig;
  readonly draft: UpgradeDraft;
  readonly timers: Timers;
  readonly save: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const NOTHING: ManagedUpgradeLook = { isValid: false, isDue: false, provider: 'unasked', isGivenUp: false, isDone: false };

/** Looks at the upgrade as its phase demands. */
export const lookAt: Readonly<Record<UpgradePhase, (pass: Pass) => Promise<ManagedUpgradeLook>>> = {
  New: async (pass) => {
    await checkEarly(pass);
    return NOTHING;
  },
  Pending: lookAtPending,
  Upgrading: lookAtUpgrading,
  Upgraded: async (pass) => {
    pass.draft.sayEnded(EndReason.done);
    await repeatNotifications(pass);
    await closeOpenWindows(pass);
    await reportResult(pass);
    return NOTHING;
  },
  Failed: async (pass) => {
    pass.draft.sayEnded(EndReason.givenUp);
    await repeatNotifications(pass);
    await closeOpenWindows(pass);
    return NOTHING;
  },
};

/** An upgrade that is hours away is checked at once, so that there is time to mend what is not fit (spec/muo 2.2). */
async function checkEarly({ upgradeConfig, cluster, config, draft, clock, ports, logger, signal, ...pass }: Pass): Promise<void> {
  const schedule = scheduleOf(upgradeConfig.spec.upgradeAt, config.upgradeWindow.timeOut, clock.now());
  if (!schedule || !isEarly(schedule) || !config.featureGate.enabled.includes(FeatureGateName.preHealthCheck)) return;
  const { phase } = draft.entry;
  const verdict = await ports.health.before({ upgradeConfig, phase, cluster, config }, signal).catch((error: unknown) => {
    logger.warn({ reason: errorMessage(error) }, 'The early health check failed');
    return undefined;
  });
  if (verdict?.tokens)
    await notify({ ...pass, upgradeConfig, draft, clock, ports }, NotificationState.preHealthCheck, { detail: verdict.tokens });
}

async function lookAtPending(pass: Pass): Promise<ManagedUpgradeLook> {
  const { upgradeConfig, cluster, config, clock, ports, retries, timers, signal } = pass;
  const { timeOut } = config.upgradeWindow;
  const schedule = scheduleOf(upgradeConfig.spec.upgradeAt, timeOut, clock.now());
  const remark = schedule?.isBreached ? `; the ${timeOut} minutes of its window are over since upgradeAt, it begins all the same` : '';
  if (!(await isValid(pass, remark))) return NOTHING;
  const target = targetOf(upgradeConfig.spec);
  const isDue = schedule?.isReady === true || (target !== undefined && isCommenced(cluster.clusterVersion, target));
  if (!isDue) {
    timers.requeueAfter(schedule && schedule.untilUpgradeMs + 1);
    return { ...NOTHING, isValid: true };
  }
  try {
    const isReplaced = await ports.provider.refresh(signal);
    if (!isReplaced) await assertAsked(pass);
    return { ...NOTHING, isValid: true, isDue, provider: isReplaced ? 'replaced' : 'agrees' };
  } catch (error) {
    if (error instanceof WithdrawnError) throw error;
    // Its provider says why, in the condition about what is asked for.
    timers.requeueAfter(retries.after('provider'));
    return NOTHING;
  }
}

/** As long as an answer of the graph counts. */
const GRAPH_AGAIN_MS = 5 * 60_000;

/** Validates, looking up what that takes, and says what came of it. @param remark said of what is valid */
async function isValid(pass: Pass, remark: string): Promise<boolean> {
  const { upgradeConfig, cluster, config, draft, ports, retries, timers, signal } = pass;
  const answers: { imageVersion?: string; updates?: readonly string[] } = {};
  for (;;) {
    const verdict = validate({
      spec: upgradeConfig.spec,
      clusterVersion: cluster.clusterVersion,
      asksGraph: config.validation.cincinnati,
      answers,
    });
    try {
      switch (verdict.kind) {
        case 'ask-image':
          answers.imageVersion = await ports.releases.versionOf(verdict.image, signal);
          continue;
        case 'ask-updates':
          answers.updates = await ports.releases.updates({ cluster, channel: verdict.channel, version: verdict.version }, signal);
          continue;
        case 'resolved':
          await resolveVersion(pass, verdict.version);
          return false;
        case 'refused':
          draft.sayValidated(ValidationReason.refused, verdict.message);
          ports.metrics.validationFailed(true);
          // Nothing in the cluster changes when the graph offers the version after all.
          timers.requeueAfter(answers.updates && GRAPH_AGAIN_MS);
          return false;
        case 'valid':
          draft.sayValidated(ValidationReason.valid, verdict.message + remark);
          ports.metrics.validationFailed(false);
          return true;
      }
    } catch (error) {
      draft.sayValidated(ValidationReason.unknown, errorMessage(error));
      ports.metrics.validationFailed(true);
      timers.requeueAfter(retries.after('validation'));
      return false;
    }
  }
}

/** The version of an image belongs into the spec; the pass after that knows it. */
async function resolveVersion({ client, upgradeConfig, caches, timers, signal }: Pass, version: string): Promise<void> {
  const { namespace, name, uid } = upgradeConfig.metadata;
  const patch = { metadata: { uid }, spec: { desired: { version } } };
  const stored = await client.patch(UpgradeConfigKind, { namespace, name }, patch, { type: 'merge', signal });
  caches.upgradeConfigs.wrote(stored);
  timers.requeueAfter(0);
}

async function lookAtUpgrading(pass: Pass): Promise<ManagedUpgradeLook> {
  const { upgradeConfig, cluster, config, draft, clock, retries, timers, logger } = pass;
  const target = targetOf(upgradeConfig.spec);
  if (!target) return NOTHING;
  const commenced = isSent({ upgradeConfig, entry: draft.entry }, cluster.clusterVersion);
  draft.change(poolFacts(draft.entry, cluster, commenced, clock.now()));
  const endsAt = givesUpAt(draft.entry, config, upgraders[upgradeConfig.spec.type], commenced);
  const contextOf = () => contextFor(pass, target, commenced);
  if (endsAt !== undefined && endsAt < clock.now()) return { ...NOTHING, isGivenUp: await tryToGiveUp(pass, contextOf()) };
  timers.requeueAfter(endsAt && endsAt - clock.now() + 1);
  await repeatNotifications(pass);
  const { isDone, failure } = await walkSteps(pass.steps(upgradeConfig.spec.type, config), draft, contextOf, timers);
  if (failure) {
    if (retries.isNews(failure.step, failure.message)) logger.warn({ step: failure.step, reason: failure.message }, 'A step failed');
    timers.requeueAfter(retries.after(failure.step));
  } else retries.reset();
  return { ...NOTHING, isDone };
}

async function tryToGiveUp({ draft, retries, timers, logger }: Pass, context: StepContext): Promise<boolean> {
  try {
    await giveUp(draft, context);
    return true;
  } catch (error) {
    draft.noteFailure({ reason: FailureReason.notGivenUp, message: `The upgrade cannot be given up yet: ${errorMessage(error)}` });
    logger.warn({ reason: errorMessage(error) }, 'The upgrade cannot be given up yet');
    timers.requeueAfter(retries.after('give-up'));
    return false;
  }
}

function contextFor(pass: Pass, target: UpgradeTarget, commenced: boolean): StepContext {
  return {
    ...pass,
    entry: pass.draft.entry,
    target,
    isCommenced: commenced,
    nowMs: pass.clock.now(),
    whileAsked: whileAsked(pass, commenced),
    notify: (state, detail) => notify(pass, state, { detail }),
  };
}

type Telling = Pick<Pass, 'upgradeConfig' | 'draft' | 'clock' | 'ports' | 'outbox'>;

/** Has something told once in an upgrade; what could not be told is remembered, and told later. @param options `of`: of an earlier attempt */
export async function notify(
  { upgradeConfig, draft, ports, outbox }: Telling,
  state: NotificationState,
  { detail, of }: { readonly detail?: string | undefined; readonly of?: UpgradeHistory } = {},
): Promise<Told> {
  const earlier = (of ?? draft.entry).notifications?.find((each) => each.state === state);
  if (earlier?.time !== undefined) return { isTold: true };
  if (!earlier) draft.noteNotification(state, { isTold: false, detail }, of);
  const told = await outbox.tell({
    state,
    upgradeConfig: of?.begunWith ? { ...upgradeConfig, spec: { ...upgradeConfig.spec, ...of.begunWith } } : upgradeConfig,
    entry: of ?? draft.entry,
    ...((earlier?.detail ?? detail) ? { detail: earlier?.detail ?? detail } : {}),
  });
  draft.noteNotification(state, told, of);
  const problem = told.isTold ? undefined : told.problem;
  if (told.isTold || problem !== undefined) ports.metrics.notificationFailed(state, !told.isTold);
  if (told.isTold) ports.metrics.notificationSent(state, draft.entry.version ?? '');
  return told;
}

/** Conditions that say of a notification that it was sent; one that is told late is sent then. */
const SENT: Readonly<Partial<Record<NotificationState, UpgradeCondition>>> = {
  [NotificationState.started]: UpgradeCondition.startedNotificationSent,
  [NotificationState.completed]: UpgradeCondition.completedNotificationSent,
};

/** Tells what could not be told so far. */
async function repeatNotifications(pass: Pass): Promise<void> {
  for (const { state, time, detail } of pass.draft.entry.notifications ?? []) {
    const known = Object.values(NotificationState).find((one) => one === state);
    if (!known || time !== undefined) continue;
    const { isTold } = await notify(pass, known, { detail });
    const condition = SENT[known];
    if (isTold && condition) pass.draft.endStep(condition, { kind: 'done' });
    if (isTold && known === NotificationState.failed) pass.draft.sayFailed(isTold);
  }
}

/** Says once how the upgrade went: whether anybody was paged for it (spec/muo 2.2). */
async function reportResult({ draft, upgradeConfig, ports, retries, timers, logger, signal }: Pass): Promise<void> {
  const { version = '', precedingVersion = '', startTime, completeTime } = draft.entry;
  const key = `result ${upgradeConfig.metadata.uid} ${version} ${startTime}`;
  if (startTime === undefined || completeTime === undefined || retries.isDone(key)) return;
  try {
    const alerts = await ports.alerts.paging(Date.parse(startTime), Date.parse(completeTime), signal);
    ports.metrics.result({ precedingVersion, version, stream: streamOf(precedingVersion, version), alerts });
    retries.noteDone(key);
  } catch (error) {
    if (retries.isNews(key, errorMessage(error)))
      logger.warn({ reason: errorMessage(error) }, 'The result of the upgrade is not known yet');
    timers.requeueAfter(retries.after(key));
  }
}
