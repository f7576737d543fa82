/** A job that deletes before it looks, as the reference's backup does (spec/talm 5.1): what may follow the deletions, and when. */
import { Annotation } from '@flotilla/api';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import type { Write } from '../../writes/apply.ts';
import type { SpokeTask } from '../port/port.ts';
import type { ActionsSpoke } from './observe.ts';

/**
 * True when the deletions were executed and nothing is left, or when this attempt has begun: deleting later would take its own namespace.
 * The view of the namespace is made after both deletions were asked for, so one that is missing has ended and was tidied away.
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

/** Deletions that no action shows: the server is asked whether they are there, for the cache of actions may be behind that of views. */
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

/** Deletions to see to: both before there is a view; then those that are under way, and that of a namespace that is still there. */
export function deletionsDue(task: SpokeTask, spoke: ActionsSpoke): string[] {
  return deletionsOf(task).filter(
    (name) =>
      !spoke.namespaceView?.ours || spoke.actions.has(name) || (name === task.job.names.actions.deleteNamespace && isNamespaceSeen(spoke)),
  );
}

/** The namespace of the job is on the spoke: the job can be made. */
export const isNamespaceSeen = ({ namespaceView: view }: ActionsSpoke): boolean =>
  view?.ours === true && view.answer.kind === 'found' && !view.answer.object.metadata.deletionTimestamp;
