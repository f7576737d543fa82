/** A job that deletes before it looks, as the reference's backup does (spec/talm 5.1): what may follow the deletions, and when. */
import { Annotation } from '@flotilla/api';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import type { SpokeTask } from '../port/port.ts';
import type { ActionsSpoke } from './observe.ts';

/**
 * True when the deletions were executed and nothing is left, or when this attempt has begun: deleting later would take its own namespace.
 * The view of the namespace is made after both deletions were asked for, so one that is missing has ended and was tidied away.
 */
export async function isCleaned(task: SpokeTask, { namespaceView: view, actions }: ActionsSpoke, client: Client): Promise<boolean> {
  const [first] = task.workload.manifests();
  if (first && actions.get(first.action)?.ours) return true;
  if (!view?.ours) return false;
  const { answer } = view;
  const metadata = answer.kind === 'found' ? answer.object.metadata : undefined;
  if (metadata?.annotations?.[Annotation.upgradeUid] === task.upgrade.uid && !metadata.deletionTimestamp) return true;
  if (answer.kind !== 'absent') return false;
  const { deleteNamespace, deleteClusterRoleBinding } = task.job.names.actions;
  for (const name of [deleteNamespace, deleteClusterRoleBinding]) {
    const action = actions.get(name);
    const isDone = action?.deletes === 'before' && action.outcome === 'executed';
    // The cache of actions may be behind that of views.
    if (!isDone && (action || (await client.get(ManagedClusterAction, { namespace: task.cluster, name })))) return false;
  }
  return true;
}

/** Deletions to see to: both before there is a view; then those that are under way, and that of a namespace that is still there. */
export function deletionsDue({ job: { names } }: SpokeTask, spoke: ActionsSpoke): string[] {
  const { deleteNamespace, deleteClusterRoleBinding } = names.actions;
  return [deleteNamespace, deleteClusterRoleBinding].filter(
    (name) => !spoke.namespaceView?.ours || spoke.actions.has(name) || (name === deleteNamespace && isNamespaceSeen(spoke)),
  );
}

/** The namespace of the job is on the spoke: the job can be made. */
export const isNamespaceSeen = ({ namespaceView: view }: ActionsSpoke): boolean =>
  view?.ours === true && view.answer.kind === 'found' && !view.answer.object.metadata.deletionTimestamp;
