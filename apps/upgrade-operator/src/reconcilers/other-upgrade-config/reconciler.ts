import { refOfKey } from '@flotilla/api';
import { UPGRADE_CONFIG_NAME, UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import {
  type Client,
  eventSubject,
  patchStatus,
  type ReconcileResult,
  type Reconciler,
  RefusedValues,
  startReconciler,
  troubleEvents,
  WatchCache,
  watch,
} from '@flotilla/runtime';
import { historyOf, readingOf, withStepCondition } from '@flotilla/upgrade';
import type { ReconcilerDeps } from '../deps.ts';

interface OtherUpgradeConfigDeps extends Pick<ReconcilerDeps, 'namespace' | 'logger' | 'metrics' | 'clock' | 'ports'> {
  readonly client: Client;
}

/** Reason of `Validated` where an UpgradeConfig has a name that nobody acts upon. */
const NOT_ACTED_UPON = 'NameNotActedUpon';

/** Tells whoever makes an UpgradeConfig of another name that nobody carries it out: one alone counts, by its name (spec/muo 0.1). */
export function startOtherUpgradeConfigs(deps: OtherUpgradeConfigDeps, signal: AbortSignal): Reconciler {
  const { client, namespace, ports, logger, metrics, clock } = deps;
  const fieldSelector = `metadata.name!=${UPGRADE_CONFIG_NAME}`;
  const others = new WatchCache(client, UpgradeConfig, { namespace, fieldSelector, logger, metrics, clock });
  const refused = new RefusedValues({ clock, tell: (value) => logger.warn(value, 'The server does not take a value of the status') });
  return startReconciler({
    name: 'other-upgrade-config',
    for: watch(others),
    reconcile: async (key, context): Promise<ReconcileResult> => {
      const other = others.list().find(({ metadata }) => key === `${metadata.namespace}/${metadata.name}`);
      if (!other || other.metadata.deletionTimestamp) return {};
      const stored = await patchStatus(client, UpgradeConfig, other, statusOf(other, clock.now()), { signal: context.signal, refused });
      if (stored) context.logger.warn({ upgradeConfig: key }, 'An UpgradeConfig has a name that nobody acts upon');
      return {};
    },
    onTrouble: troubleEvents(ports.events, (key) => eventSubject(UpgradeConfig, others.get(refOfKey(key)))),
    logger,
    signal,
    metrics,
    clock,
  });
}

/** Its status with that in it; what else stands there stays. */
function statusOf(other: UpgradeConfig, nowMs: number): UpgradeConfig['status'] {
  const { namespace, name } = other.metadata;
  const { version } = other.spec.desired;
  const history = historyOf(other);
  const entry = history[0] ?? { ...(version !== undefined && { version }), phase: 'New' as const, conditions: [] };
  const message = `only the UpgradeConfig named ${UPGRADE_CONFIG_NAME} in ${namespace} is carried out, and this one is named ${name}: put its spec there`;
  const said = { type: UpgradeCondition.validated, status: 'False', reason: NOT_ACTED_UPON, message } as const;
  const next = withStepCondition(entry, said, nowMs);
  return { ...readingOf(other, next, { generation: other.metadata.generation, nowMs }), history: [next, ...history.slice(1)] };
}
