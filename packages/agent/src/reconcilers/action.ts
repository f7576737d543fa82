import { findCondition, isSameJson, withCondition } from '@flotilla/api';
import { ACTION_COMPLETED, ManagedClusterAction } from '@flotilla/api/ocm';
import { type ReconcileContext, type ReconcileResult, replaceStatus } from '@flotilla/runtime';
import type { KindDeps, SpokeAccess } from '../access.ts';
import { executeAction } from '../execution.ts';

/**
 * Executes one action, unless it is done (spec/ocm 1.6). A done action stays frozen, even when edited. A failed one runs again at every reconcile:
 * its own status write causes one, later a touch or a restart does. No timer retries it.
 */
export async function reconcileAction(
  name: string,
  deps: KindDeps<ManagedClusterAction, SpokeAccess>,
  { logger, signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const action = deps.get(name);
  if (!action) return {};
  if (findCondition(action.status?.conditions, ACTION_COMPLETED)?.status === 'True') return {};

  // Beforehand: an action that was executed is told, also by an agent that is being stopped.
  await deps.limit(signal);
  // Another version that came meanwhile has a reconcile of its own.
  if (deps.get(name)?.metadata.resourceVersion !== action.metadata.resourceVersion) return {};
  const { condition, result } = await executeAction(action, deps.spoke);
  deps.onEvent?.(condition.status === 'True' ? 'action-executed' : 'action-failed', name);
  const conditions = withCondition(action.status?.conditions, condition, deps.clock.now());
  logger.info({ managedClusterAction: name, actionType: action.spec?.actionType, reason: condition.reason }, 'Executed an action');
  if (isSameJson(conditions, action.status?.conditions ?? [])) return {};

  // The executed version guards the write: a conflict means that the action has changed. A result that the hub refuses must not hide that it was executed.
  await replaceStatus(deps.hub, ManagedClusterAction, action, { conditions, result: result ?? null }, { refused: deps.refused });
  return {};
}
