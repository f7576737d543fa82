/** Recognizes the transport to a spoke that was begun. Pure. */
import type { KubeObject } from '@flotilla/api';
import type { ManifestWork } from '@flotilla/api/ocm';
import type { Choice } from '@flotilla/rollout';
import { ActionAnnotation, isLeftover } from './actions/hub-objects.ts';

/** Returns the transport that was begun, if any. A view proves actions, even after a work was tried. */
export function begunTransport(objects: {
  readonly views: readonly KubeObject[];
  readonly actions: readonly KubeObject[];
  readonly work: ManifestWork | undefined;
}): Choice['by'] | undefined {
  if (objects.views.some((view) => !isLeftover(view))) return 'actions';
  if (objects.work) return 'work';
  // Actions may clear another attempt's objects before a work begins.
  return objects.actions.some(({ metadata }) => metadata.annotations?.[ActionAnnotation.deletes] !== 'before') ? 'actions' : undefined;
}
