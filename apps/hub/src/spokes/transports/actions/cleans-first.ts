/** Deletes before any look, as the reference's backup does (spec/talm 5.1), and decides when the job may follow. */
import { Annotation } from '@flotilla/api';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import type { Write } from '../../../writes/apply.ts';
import type { SpokeTask } from '../port/port.ts';
import type { ActionsSpoke } from './observe.ts';

/**
 * True when the deletions were executed and nothing is left, or when this attempt has begun: a later deletion would take its own namespace. The view
 * of the namespace is made after both deletions, so a missing deletion has ended and was tidied away.
 */
export function isCleaned(task: SpokeTask, spoke: ActionsSpoke): boolean {
  const { namespaceView: view, actions } = spoke;
  if (hasBegun(task, spoke)) return true;
  const { answer } = view?.ours ? view : {};
  const metadata = answer?.kind === 'found' ? answer.object.metadata : undefined;
  if (metadata?.annotations?.[Annotation.upgradeUid] === task.upgrade.uid && !metadata.deletionTimestamp) return true;
  if (answer?.kind !== 'absent') return false;
  return deletionsOf(task).every((name) => !actions.has(name) || isDone(name, actions));
}

/** Asks the server for deletions without an action in the cache: the cache of actions may lag behind that of views. */
export function unconfirmedDeletions(task: SpokeTask, spoke: ActionsSpoke): Write[] {
  if (hasBegun(task, spoke) || spoke.namespaceView?.answer.kind !== 'absent') return [];
  return deletionsOf(task)
    .filter((name) => !spoke.actions.has(name))
    .map((name) => ({ verb: 'confirmAbsent', kind: ManagedClusterAction, ref: { namespace: task.cluster, name } }));
}

function hasBegun(task: SpokeTask, { actions }: ActionsSpoke): boolean {
  const [first] = task.workload.manifests();
  return first !== undefined && actions.get(first.action)?.ours === true;
}

const deletionsOf = ({ job: { names } }: SpokeTask): string[] => [names.actions.deleteNamespace, names.actions.deleteClusterRoleBinding];

const isDone = (name: string, actions: ActionsSpoke['actions']): boolean => {
  const action = actions.get(name);
  return action?.deletes === 'before' && action.outcome === 'executed';
};

/** Lists the deletions to ensure: both before there is a view; then those with an action, and that of an existing namespace. */
export function deletionsDue(task: SpokeTask, spoke: ActionsSpoke): string[] {
  return deletionsOf(task).filter(
    (name) =>
      !spoke.namespaceView?.ours || spoke.actions.has(name) || (name === task.job.names.actions.deleteNamespace && isNamespaceSeen(spoke)),
  );
}

/** True when the job's namespace is on the spoke, so that the job can be created. */
export const isNamespaceSeen = ({ namespaceView: view }: ActionsSpoke): boolean =>
  view?.ours === true && view.answer.kind === 'found' && !view.answer.object.metadata.deletionTimestamp;
