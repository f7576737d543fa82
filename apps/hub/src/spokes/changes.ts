/** Changes of a job's spokes, from the watches of the hub. */
import { type KubeObject, Label } from '@flotilla/api';
import type { ManagedClusterAction } from '@flotilla/api/ocm';
import type { SpokeJobCaches } from './port/caches.ts';
import type { SpokeJobNames } from './port/workload.ts';

/** Change on one spoke of one upgrade. */
export interface SpokeChange {
  readonly upgradeUid: string;
  readonly cluster: string;
  /** `gone`: a hub object was deleted; `begun`: the job exists; `changed`: any other change that may decide something. */
  readonly kind: 'gone' | 'begun' | 'changed';
}

/** Calls the listener for every change; returns a function that detaches it. */
export function onSpokeChanges(
  { views, actions, jobWorks }: SpokeJobCaches,
  { work, names }: { readonly work: string; readonly names: SpokeJobNames },
  listener: (change: SpokeChange) => void,
): () => void {
  const report = ({ metadata }: KubeObject, kind: SpokeChange['kind'] | undefined): void => {
    if (kind === undefined || metadata.labels?.[Label.work] !== work) return;
    listener({ upgradeUid: metadata.labels[Label.upgradeUid] ?? '', cluster: metadata.namespace ?? '', kind });
  };
  const decisive: ReadonlySet<string> = new Set(Object.values(names.actions));
  const detach = [
    views.subscribe(({ type, object }) => report(object, type === 'deleted' ? 'gone' : object.status?.conditions && 'changed')),
    actions.subscribe(({ type, object }) => report(object, type === 'deleted' ? 'gone' : ofAction(object, names, decisive))),
    jobWorks.subscribe(({ type, object }) => report(object, type === 'deleted' ? 'gone' : 'changed')),
  ];
  return () => {
    for (const each of detach) each();
  };
}

/** Only actions whose end moves a spoke on count, because the other actions have ended by then. */
function ofAction(
  action: ManagedClusterAction,
  { actions: { createJob } }: SpokeJobNames,
  decisive: ReadonlySet<string>,
): 'begun' | 'changed' | undefined {
  const condition = action.status?.conditions?.[0];
  if (!condition || (condition.status !== 'False' && !decisive.has(action.metadata.name))) return undefined;
  return condition.status === 'True' && action.metadata.name === createJob ? 'begun' : 'changed';
}
