import { errorMessage } from '@flotilla/api';
import { type Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { NotificationState, type UpgradeConfig } from '@flotilla/api/managed';
import { type Client, type Clock, isConflict, isNotFound, type Logger } from '@flotilla/runtime';
import {
  cordonOf,
  type DrainSettings,
  type DrainStep,
  describeHolders,
  drainMoments,
  isDrainDue,
  planDrain,
  stuckNodes,
} from '@flotilla/upgrade';
import { keptByKey } from '../clients/kept.ts';
import { type OperatorConfig, readGoExpression } from '../operator-config/schema.ts';
import type { NodeReports } from '../ports.ts';

/** Input for judging the drain of a node. */
export interface DrainContext {
  readonly upgradeConfig: UpgradeConfig;
  readonly config: OperatorConfig;
  /** Watch the drain, remove nothing. Default false. */
  readonly watchOnly?: boolean;
  /** No drain began before that, whoever cordoned the node; milliseconds since the epoch. */
  readonly notBeforeMs?: number;
  readonly nowMs: number;
  /** Told of `StateDelayed` when pods with a disruption budget were removed. */
  readonly notify: (state: NotificationState, detail: string) => Promise<unknown>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** State of the drain of a node. */
export interface DrainState {
  readonly isLate: boolean;
  /** Delay until the next look although nothing changes. */
  readonly afterMs?: number;
}

/** Removes what keeps nodes from being drained. */
export interface NodeDrains {
  /** Looks at one node, and removes the pods whose time is over. Nothing for a node that is not cordoned. */
  force(node: Node, context: DrainContext): Promise<DrainState>;
}

/** Pods that were told to go are looked at again after this long. */
const AGAIN_MS = 60_000;

/** Reads pods and budgets when the time of a strategy has come, not before: most drains end in time. */
export function createNodeDrains(client: Pick<Client, 'list' | 'patch' | 'delete'>): NodeDrains {
  return {
    async force(node, context) {
      const { nowMs, notBeforeMs = 0, notify, logger, signal } = context;
      const cordon = cordonOf(node);
      if (!cordon) return { isLate: false };
      if (cordon === 'unknown') {
        logger.warn({ node: node.metadata.name }, 'Node is cordoned, but its taint has no timeAdded: its drain is not watched');
        return { isLate: false, afterMs: AGAIN_MS };
      }
      const settings = settingsOf(context);
      const sinceMs = Math.max(cordon.sinceMs, notBeforeMs);
      if (!isDrainDue(sinceMs, settings, nowMs)) return { isLate: false, afterMs: untilNext(sinceMs, settings, nowMs) };
      const { pods, budgets } = settings.disabled ? { pods: [], budgets: [] } : await readPods(client, node.metadata.name, signal);
      const { steps, forcesBudgets, isLate } = planDrain(sinceMs, pods, budgets, settings, nowMs);
      for (const step of steps) await carryOut(client, step, logger, signal);
      if (forcesBudgets) await notify(NotificationState.delayed, 'drain');
      const next = untilNext(sinceMs, settings, nowMs);
      return { isLate, afterMs: pods.length > 0 ? Math.min(next ?? AGAIN_MS, AGAIN_MS) : next };
    },
  };
}

/** Milliseconds until something is due that is not yet; undefined when nothing is. */
function untilNext(sinceMs: number, settings: DrainSettings, nowMs: number): number | undefined {
  const next = drainMoments(sinceMs, settings).find((moment) => moment >= nowMs);
  return next === undefined ? undefined : next - nowMs + 1;
}

function settingsOf({ upgradeConfig, config: { nodeDrain }, watchOnly = false }: DrainContext): DrainSettings {
  return {
    timeOut: nodeDrain.timeOut,
    expectedDrainTime: nodeDrain.expectedNodeDrainTime,
    forceDrainTimeout: upgradeConfig.spec.PDBForceDrainTimeout,
    disabled: watchOnly,
    ignoredNamespaces: nodeDrain.ignoredNamespacePatterns.map(readGoExpression).filter((expression) => typeof expression !== 'string'),
  };
}

/** Reads the pods of a node, and all budgets. */
async function readPods(client: Pick<Client, 'list'>, node: string, signal: AbortSignal) {
  const [pods, budgets] = await Promise.all([
    client.list(Pod, { fieldSelector: `spec.nodeName=${node}`, signal }),
    client.list(PodDisruptionBudget, { signal }),
  ]);
  return { pods: pods.items, budgets: budgets.items };
}

async function carryOut(
  client: Pick<Client, 'patch' | 'delete'>,
  { strategy, action, pod }: DrainStep,
  logger: Logger,
  signal: AbortSignal,
) {
  const { namespace, name, uid } = pod.metadata;
  if (action === 'delete') await client.delete(Pod, { namespace, name }, { uid, gracePeriodSeconds: 0, signal });
  else await client.patch(Pod, { namespace, name }, { metadata: { uid, finalizers: null } }, { type: 'merge', signal }).catch(unlessGone);
  logger.info({ pod: `${namespace}/${name}`, strategy }, 'Removed what kept a node from being drained');
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error) && !isConflict(error)) throw error;
}

/** Nodes whose pods could not be removed at the last try: the status of the upgrade says so, and has another writer. */
export class DrainFailures {
  readonly #byNode = new Map<string, string>();
  readonly #wake: () => void;

  /** @param wake called at each change */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  note(node: string, message: string): void {
    if (this.#byNode.get(node) === message) return;
    this.#byNode.set(node, message);
    this.#wake();
  }

  /** The last try went well, or there is nothing to remove any more. */
  end(node: string): void {
    if (this.#byNode.delete(node)) this.#wake();
  }

  /** The nodes and why, for people; undefined where all went well. */
  get message(): string | undefined {
    const all = [...this.#byNode].toSorted(([a], [b]) => a.localeCompare(b)).map(([node, message]) => `node ${node}: ${message}`);
    return all.length === 0 ? undefined : `Pods that hold up a drain cannot be removed: ${all.join('; ')}`;
  }
}

/** A worker is looked at so often at most: its pods are listed for it. */
const KEEP_MS = 60_000;
/** Nodes whose pods are listed. */
const MOST = 3;
const LONGEST = 256;

/** Reads what holds nodes that are not drained in time. It is never a reason to fail: what cannot be read is said in its place. */
export function createNodeReports(client: Pick<Client, 'list'>, clock: Clock): NodeReports {
  const holdersOf = keptByKey(
    { clock, keepMs: KEEP_MS, failures: { baseMs: KEEP_MS, maxMs: KEEP_MS } },
    async (node: string, signal: AbortSignal) => {
      const { pods, budgets } = await readPods(client, node, signal);
      return describeHolders(pods, budgets);
    },
  );
  const report = async (node: Node, signal: AbortSignal) => {
    const holders = await holdersOf(node.metadata.name, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return `its pods cannot be listed: ${errorMessage(error).slice(0, LONGEST)}`;
    });
    return { node, holders };
  };
  return {
    async stuck({ nodes, expectedMinutes }, signal) {
      const found = stuckNodes(nodes, { expectedMinutes, nowMs: clock.now() });
      const first = await Promise.all(found.slice(0, MOST).map((node) => report(node, signal)));
      return [...first, ...found.slice(MOST).map((node) => ({ node, holders: '' }))];
    },
  };
}
