import type { ViewStatus } from '@flotilla/agent';
import { type Condition, isJsonObject, isSameJson } from '@flotilla/api';
import type { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';

/**
 * The simulated spokes keep only a trace of each result, so they write status as JSON patches that carry the resourceVersion they
 * saw: the same compare-and-swap as the stock agent's PUT.
 */
type JsonPatch = { op: 'add' | 'replace'; path: string; value: unknown }[];

/** Patch of an action's status; undefined when it says the same already. */
export function actionStatusPatch(action: ManagedClusterAction, conditions: readonly Condition[], result: unknown): JsonPatch | undefined {
  if (isSameJson(action.status?.conditions ?? [], conditions)) return undefined;
  return [version(action), { op: 'add', path: '/status', value: { conditions, result: result ?? null } }];
}

/** Patch of a view's status. An error leaves the result alone. */
export function viewStatusPatch(view: ManagedClusterView, next: ViewStatus): JsonPatch {
  const { conditions, result } = next;
  if (!view.status)
    return [version(view), { op: 'add', path: '/status', value: { conditions, ...(result === undefined ? {} : { result }) } }];
  const patch: JsonPatch = [version(view), { op: 'add', path: '/status/conditions', value: conditions }];
  return result === view.status.result ? patch : [...patch, { op: 'add', path: '/status/result', value: result }];
}

/** True when a read found the content that the view shows already. */
export const isViewUnchanged = (view: ManagedClusterView, next: ViewStatus): boolean =>
  isSameJson(view.status?.conditions ?? null, next.conditions ?? null) && isSameJson(traceOf(view.status?.result), traceOf(next.result));

const version = (object: { metadata: { resourceVersion?: string } }): JsonPatch[number] => ({
  op: 'replace',
  path: '/metadata/resourceVersion',
  value: object.metadata.resourceVersion ?? '',
});

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

/** Trims a work for a cache: all but its managed fields. */
export function leanWork(work: ManifestWork): ManifestWork {
  const { managedFields: _, ...metadata } = work.metadata;
  return { ...work, metadata };
}
