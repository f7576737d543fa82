/** Carries out the work of a pass: the steps of an upgrade, or its end. */
import { errorMessage } from '@flotilla/api';
import { NotificationState, UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import type { Client } from '@flotilla/runtime';
import { askedMessage, beginningOf, isSameBeginning, skippedWhy, stepConditions, surgeRemains } from '@flotilla/upgrade';
import type { Caches } from '../../caches.ts';
import type { Ports } from '../../ports.ts';
import { closeWindow, openWindows } from '../../steps/during.ts';
import { done, type Step, type StepContext, type StepOutcome, skipped, WithdrawnError } from '../../steps/step.ts';
import type { Timers } from './retries.ts';
import type { UpgradeDraft } from './status.ts';

interface Walk {
  /** Every step is done or skipped, but for what may still be told. */
  readonly isDone: boolean;
  /** A step that failed: tried again although nothing changes. */
  readonly failure?: { readonly step: string; readonly message: string };
}

/**
 * Walks the steps from the first one, as far as they are done; each is told of in its condition (spec/muo 5.2).
 * @param contextOf what a step works with; asked for each, for the one before it may have changed the status
 */
export async function walkSteps(steps: readonly Step[], draft: UpgradeDraft, contextOf: () => StepContext, timers: Timers): Promise<Walk> {
  /** Conditions that two steps share stay as the one left them that is not done. */
  const open = new Set<string>();
  for (const step of steps) {
    const context = contextOf();
    const outcome = await runStep(step, context);
    context.signal.throwIfAborted();
    timers.requeueAfter(outcome.afterMs);
    const condition = stepConditions[step.name];
    if (outcome.kind !== 'done' || !open.has(condition)) draft.endStep(condition, outcome);
    if (outcome.kind === 'done' || outcome.kind === 'skipped') continue;
    open.add(condition);
    if (outcome.goesOn) continue;
    return { isDone: false, ...(outcome.kind === 'failed' && { failure: { step: step.name, message: outcome.message } }) };
  }
  return { isDone: true };
}

async function runStep(step: Step, context: StepContext): Promise<StepOutcome> {
  if (step.endsWithCommencement && context.isCommenced) {
    const why = skippedWhy(context.entry, stepConditions[step.name]);
    return why === undefined ? done : skipped(why);
  }
  try {
    return await step.run(context);
  } catch (error) {
    if (error instanceof WithdrawnError) throw error;
    return { kind: 'failed', message: errorMessage(error) };
  }
}

/** Gives up an upgrade that has changed nothing by the end of its window (spec/muo 5.6): takes extra workers away and tells. Its silences end after that. */
export async function giveUp(draft: UpgradeDraft, { cluster, ports, writes, notify, logger, signal }: StepContext): Promise<void> {
  for (const set of surgeRemains(cluster).sets) await writes.deleteMachineSet(set, signal);
  const { isTold } = await notify(NotificationState.failed);
  ports.metrics.resetFailed();
  ports.metrics.windowBreached(true);
  // Monitoring that does not answer may be the very reason why nothing was changed.
  draft.endStep(UpgradeCondition.controlPlaneWindowRemoved, { kind: 'waiting', reason: 'the end of its silences' });
  draft.sayFailed(isTold);
  logger.warn({ version: draft.entry.version }, 'Gave the upgrade up: its window ended before anything was changed');
}

interface Closing {
  readonly draft: UpgradeDraft;
  readonly ports: Pick<Ports, 'silences'>;
  readonly timers: Timers;
  readonly save: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Closes what an upgrade that has ended left open, as soon as Alertmanager answers. */
export async function closeOpenWindows({ draft, ports: { silences }, timers, save, signal }: Closing): Promise<void> {
  const open = openWindows(draft.entry);
  if (open.length === 0) return;
  // The end is saved first, so that it is known before Alertmanager is waited for.
  await save();
  for (const type of open) {
    const outcome = await closeWindow(type, { entry: draft.entry, silences, signal });
    signal.throwIfAborted();
    draft.endStep(type, outcome);
    timers.requeueAfter(outcome.afterMs);
  }
}

/** An API server that does not answer fails the step, which is tried again. */
const WAIT_MS = 10_000;

interface Asking {
  readonly client: Pick<Client, 'get'>;
  readonly upgradeConfig: UpgradeConfig;
  readonly caches: Pick<Caches, 'upgradeConfigs'>;
  readonly ports: Pick<Ports, 'provider'>;
  readonly signal: AbortSignal;
}

/**
 * Asks the API server, because the object that a pass began with may be out of date. Resolves when the UpgradeConfig is there and asks for its upgrade.
 * @throws WithdrawnError
 */
export async function assertAsked({ client, upgradeConfig, caches, signal }: Omit<Asking, 'ports'>): Promise<void> {
  const { namespace, name, uid } = upgradeConfig.metadata;
  const now = await client.get(UpgradeConfig, { namespace, name }, { signal, timeoutMs: WAIT_MS });
  if (!now || now.metadata.uid !== uid || now.metadata.deletionTimestamp) throw new WithdrawnError('the UpgradeConfig was deleted');
  caches.upgradeConfigs.wrote(now);
  const wanted = beginningOf(now.spec);
  if (!isSameBeginning(wanted, beginningOf(upgradeConfig.spec))) throw new WithdrawnError(askedMessage('the UpgradeConfig', wanted));
}

/** For steps. @param isSent the cluster was sent: what is asked for by now waits */
export const whileAsked =
  (pass: Asking, isSent: boolean): StepContext['whileAsked'] =>
  (act) =>
    isSent
      ? act()
      : pass.ports.provider.whileUnchanged(async () => {
          await assertAsked(pass);
          return act();
        });
