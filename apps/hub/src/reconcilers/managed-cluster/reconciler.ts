import { Annotation, findCondition, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, type ManagedCluster, type Policy } from '@flotilla/api/ocm';
import {
  type Change,
  type Client,
  type Controller,
  type EventRecorder,
  type Logger,
  type Metrics,
  type ReconcileContext,
  startController,
  WorkQueue,
} from '@flotilla/runtime';
import { servesPolicies } from '../cluster-group-upgrade/observe.ts';
import { createUpgrade } from './apply.ts';
import { AUTO_NAMESPACE, type ManagedClusterCaches, observeAfresh, observeCluster } from './observe.ts';
import { planCluster } from './plan.ts';
import { refusalEvent } from './status.ts';

/** What the reconciler works with. */
export interface AutoUpgradeDeps {
  readonly client: Client;
  /** Filled. */
  readonly caches: ManagedClusterCaches;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Creates the first upgrade of each newly imported cluster (spec/talm 5.2), until the signal aborts. */
export function startAutoUpgrades({ client, caches, recorder, logger, metrics }: AutoUpgradeDeps, signal: AbortSignal): Controller {
  const queue = new WorkQueue({ name: 'managed-cluster', concurrency: 4, metrics });
  /** What was last said of a cluster, so that it is said once. */
  const refused = new Map<string, string>();
  wakeOnChange(caches, queue);

  async function reconcile(name: string, context: ReconcileContext) {
    const observed = observeCluster(name, caches);
    if (!observed) {
      refused.delete(name);
      return {};
    }
    const first = planCluster(observed);
    const plan = first.kind === 'create' ? planCluster(await observeAfresh(observed, client)) : first;
    if (plan.kind !== 'refuse') refused.delete(name);
    if (plan.kind === 'create' && (await createUpgrade(plan.upgrade, client)))
      context.logger.info({ managedCluster: name, upgrade: `${AUTO_NAMESPACE}/${name}` }, 'Created the upgrade of a new cluster');
    if (plan.kind === 'refuse') {
      const event = refusalEvent(observed.cluster, plan);
      if (refused.get(name) !== event.note) {
        context.logger.warn({ managedCluster: name, reason: event.note }, 'No upgrade for a new cluster until its policies are mended');
        recorder.record(event);
      }
      refused.set(name, event.note);
    }
    return {};
  }
  return startController({ name: 'managed-cluster', queue, reconcile, logger, signal, metrics });
}

/** Adds the clusters that a change concerns to the queue, from now on, and all of them now. */
function wakeOnChange(caches: ManagedClusterCaches, queue: WorkQueue): void {
  const { clusters, upgrades, parents, children, placements } = caches;
  const everyCluster = () => {
    for (const { metadata } of clusters.list()) queue.add(metadata.name);
  };
  let served = servesPolicies(caches);
  const noticeFramework = () => {
    if (!served && servesPolicies(caches)) everyCluster();
    served = servesPolicies(caches);
  };
  clusters.subscribe((change) => hasClusterChanged(change) && queue.add(change.object.metadata.name));
  upgrades.subscribe(({ type, object: { metadata } }) => {
    if (type === 'deleted' && metadata.namespace === AUTO_NAMESPACE) queue.add(metadata.name);
  });
  parents.subscribe(noticeFramework);
  placements.subscribe(noticeFramework);
  children.subscribe((change) => {
    noticeFramework();
    if (hasPolicyChanged(change)) queue.add(change.object.metadata.namespace ?? '');
  });
  everyCluster();
}

function hasClusterChanged({ type, object, previous }: Change<ManagedCluster>): boolean {
  const facts = ({ metadata, status }: ManagedCluster) =>
    `${metadata.uid} ${findCondition(status?.conditions, CLUSTER_AVAILABLE)?.status} ${metadata.labels?.[Label.ztpDone] === undefined}`;
  return type === 'deleted' || !previous || facts(object) !== facts(previous);
}

/** Compliance is reported all the time and changes nothing here. */
function hasPolicyChanged({ type, object, previous }: Change<Policy>): boolean {
  const facts = ({ metadata, spec }: Policy) => `${metadata.annotations?.[Annotation.deployWave]} ${spec?.remediationAction}`;
  return type === 'deleted' || !previous || facts(object) !== facts(previous);
}
