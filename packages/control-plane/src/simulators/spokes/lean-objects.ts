import { isJsonObject, isSameJson } from '@flotilla/api';
import type { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';

/** Trace of a result: enough to see whether it changed. */
function traceOf(result: unknown): unknown {
  if (!isJsonObject(result)) return null;
  const { name, namespace, uid, resourceVersion } = isJsonObject(result.metadata) ? result.metadata : {};
  return { apiVersion: result.apiVersion, kind: result.kind, metadata: { name, namespace, uid, resourceVersion } };
}

/** Trims an action for a cache: all of it until it is done, then its name and verdict. */
export function leanAction(action: ManagedClusterAction): ManagedClusterAction {
  const done = action.status?.conditions?.some(({ status }) => status === 'True');
  const { managedFields: _, ...metadata } = action.metadata;
  return {
    ...action,
    metadata,
    ...(done ? { spec: { actionType: action.spec?.actionType } } : {}),
    ...(action.status ? { status: { conditions: action.status.conditions, result: null } } : {}),
  };
}

/** Trims a view for a cache: a trace instead of the result. */
export function leanView(view: ManagedClusterView): ManagedClusterView {
  const { managedFields: _, ...metadata } = view.metadata;
  if (!view.status) return { ...view, metadata };
  return { ...view, metadata, status: { conditions: view.status.conditions, result: traceOf(view.status.result) } };
}

/** Gives a trimmed view back the result of which it has the trace. */
export const wholeView = (view: ManagedClusterView, result: unknown): ManagedClusterView =>
  view.status && isSameJson(view.status.result ?? null, traceOf(result)) ? { ...view, status: { ...view.status, result } } : view;

/** Trims a work for a cache: all but its managed fields. */
export function leanWork(work: ManifestWork): ManifestWork {
  const { managedFields: _, ...metadata } = work.metadata;
  return { ...work, metadata };
}
