import { findCondition } from '@flotilla/api';
import { ManagedClusterView, VIEW_PROCESSING } from '@flotilla/api/ocm';
import { type ReconcileContext, type ReconcileResult, replaceStatus } from '@flotilla/runtime';
import type { KindDeps, SpokeAccess } from '../access.ts';
import { isSameStatus, readView } from '../execution.ts';
import { decidePoll } from '../semantics.ts';

/** Reads a view's object when it is due, and writes only a change (spec/ocm 1.11). */
export async function reconcileView(
  name: string,
  deps: KindDeps<ManagedClusterView, SpokeAccess>,
  { logger, signal }: ReconcileContext,
): Promise<ReconcileResult> {
  const view = deps.get(name);
  if (!view) return {};
  const condition = findCondition(view.status?.conditions, VIEW_PROCESSING);
  const poll = decidePoll(
    { intervalSeconds: view.spec?.scope?.updateIntervalSeconds, lastTransitionTime: condition?.lastTransitionTime },
    deps.clock.now(),
  );
  if (!poll.query) return { requeueAfterMs: poll.requeueAfterMs };

  const status = await readView(view, deps.spoke, deps.clock.now());
  deps.onEvent?.('view-read', name);
  if (!isSameStatus(status, view.status)) {
    logger.debug(
      { managedClusterView: name, reason: status.conditions?.find(({ type }) => type === VIEW_PROCESSING)?.reason },
      'Writing what a view shows',
    );
    await deps.limit(signal);
    // The read version guards the write: an answer to an older question must not reach the view.
    await replaceStatus(deps.hub, ManagedClusterView, view, status);
    deps.onEvent?.('view-reported', name);
  }
  return { requeueAfterMs: poll.requeueAfterMs };
}
