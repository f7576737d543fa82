import { randomUUID } from 'node:crypto';
import { errorMessage, FlotillaError, findCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster, ManifestWork } from '@flotilla/api/ocm';
import type { LayerList } from '@flotilla/api/ran';
import { duration } from '@flotilla/api/units';
import { mapConcurrently } from '@flotilla/pace';
import { chooseTransport, inspectObjects, isAvailable, spokeNode } from '@flotilla/rollout';
import { type Client, isForbidden } from '@flotilla/runtime';
import { listServed } from '../../hub/connect.ts';
import { safeText, writeErr } from '../../terminal/output.ts';
import { byActions } from './by-actions.ts';
import { byWork } from './by-work.ts';
import { type Inspection, InspectRefusal, type InspectTransport, type Outcome } from './transport.ts';

/** Clusters that are inspected at a time: each has some objects on the hub meanwhile. */
const PARALLEL_CLUSTERS = 20;
/** Milliseconds for taking away what an inspection made. */
const REMOVE_WITHIN_MS = 30_000;

/** A cluster to inspect. */
export interface InspectTarget {
  readonly managed: ManagedCluster;
  /** Layers that its node is asked about. */
  readonly list: LayerList;
}

/** Manner of an inspection. */
interface InspectOptions {
  readonly image: string;
  /** Milliseconds for each cluster. */
  readonly withinMs: number;
  readonly dryRun: boolean;
  /** Ends it: what was begun is taken away. */
  readonly signal: AbortSignal;
}

/** Chooses the transport to each cluster, as the hub does. */
export async function chooseTransports(
  client: Client,
  targets: readonly InspectTarget[],
): Promise<ReadonlyMap<InspectTarget, InspectTransport>> {
  const [first] = targets;
  const isServed = first !== undefined && (await serves(client, first.managed.metadata.name));
  const chosen = ({ managed }: InspectTarget) => chooseTransport({ transport: 'auto', isServed, managed }).by;
  return new Map(targets.map((target) => [target, chosen(target) === 'work' ? byWork : byActions]));
}

const serves = async (client: Client, namespace: string): Promise<boolean> =>
  (await listServed(client, ManifestWork, { namespace, labelSelector: 'flotilla.io/work=inspect' })) !== undefined;

/**
 * Asks a node of each cluster what it has, some clusters at a time, and takes away what that took. A cluster that does not answer has its reason.
 * @throws the error of a missing right, which is the same for all; FlotillaError when it is interrupted
 */
export async function inspectClusters(
  client: Client,
  transports: ReadonlyMap<InspectTarget, InspectTransport>,
  options: InspectOptions,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  const id = randomUUID();
  await mapConcurrently(
    transports,
    PARALLEL_CLUSTERS,
    async ([target, transport]) => {
      const cluster = target.managed.metadata.name;
      const { image, withinMs } = options;
      const node = spokeNode(target.managed);
      // Nobody would take the objects up, and they would be carried out when the agent is back.
      const problem = isAvailable(target.managed) ? node.problems[0] : `its agent is away: ${sinceWhen(target.managed)}`;
      const objects = inspectObjects({ node, image, list: target.list, seconds: Math.ceil(withinMs / 1000) });
      const outcome = problem === undefined ? await inspect({ client, cluster, id, objects }, transport, options) : { why: problem };
      outcomes.set(cluster, outcome);
    },
    { stopAtFailure: true },
  );
  if (options.signal.aborted) throw new FlotillaError('FLOTILLA_INTERRUPTED', 'interrupted: what the inspection had begun is taken away');
  return outcomes;
}

function sinceWhen({ status }: ManagedCluster): string {
  const condition = findCondition(status?.conditions, CLUSTER_AVAILABLE);
  return `${CLUSTER_AVAILABLE} is ${condition?.status} since ${condition?.lastTransitionTime}`;
}

async function inspect(inspection: Inspection, transport: InspectTransport, options: InspectOptions): Promise<Outcome> {
  if (options.signal.aborted) return { why: 'interrupted' };
  if (options.dryRun) {
    await transport.check(inspection);
    return { why: 'not inspected: --dry-run' };
  }
  const outcome = await ask(inspection, transport, options);
  const left = await remove(inspection, transport);
  if (left === undefined) return outcome;
  return 'why' in outcome ? { why: `${outcome.why}; ${left}` } : { ...outcome, left };
}

async function ask(inspection: Inspection, transport: InspectTransport, { withinMs, signal }: InspectOptions): Promise<Outcome> {
  const within = AbortSignal.timeout(withinMs);
  try {
    const answer = await transport.ask(inspection, AbortSignal.any([signal, within]));
    return 'error' in answer ? { why: `its node says: ${answer.error}` } : { inventory: answer };
  } catch (error) {
    if (isForbidden(error)) {
      const left = await remove(inspection, transport);
      if (left !== undefined) writeErr(`flotilla: ${safeText(`${inspection.cluster}: ${left}`)}\n`);
      throw error;
    }
    if (signal.aborted) return { why: 'interrupted' };
    if (within.aborted) {
      const away = error === within.reason ? '' : `: ${errorMessage(error)}`;
      return { why: `no answer for ${duration(withinMs / 1000)}${away}` };
    }
    return { why: error instanceof InspectRefusal ? error.message : errorMessage(error) };
  }
}

/** Takes away what an inspection made; says what is left where that fails. Not ended by the signal, which is why it runs. */
async function remove(inspection: Inspection, transport: InspectTransport): Promise<string | undefined> {
  try {
    const isGone = await transport.remove(inspection, AbortSignal.timeout(REMOVE_WITHIN_MS));
    return isGone ? undefined : 'its agent has not taken the inspection away yet';
  } catch (error) {
    return `what the inspection made is still there: ${errorMessage(error)}`;
  }
}
