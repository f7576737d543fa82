/** Chooses the transport to a spoke. Pure. */
import type { KubeObject } from '@flotilla/api';
import { claimedTransports, type ManagedCluster, type ManifestWork } from '@flotilla/api/ocm';
import { z } from 'zod';
import { ActionAnnotation, isLeftover } from './actions/hub-objects.ts';

/** Configured transport; `auto` uses works on clusters that are known to answer them. */
export const Transport = z.enum(['auto', 'work', 'actions']);
export type Transport = z.output<typeof Transport>;

/** A transport, and the reason for it. */
export interface Choice {
  readonly by: 'actions' | 'work';
  readonly reason: string;
}

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

/** Chooses the transport of a new attempt. */
export function chooseTransport(input: {
  readonly transport: Transport;
  readonly isServed: boolean;
  readonly managed: ManagedCluster | undefined;
}): Choice {
  const { transport, isServed, managed } = input;
  if (transport === 'actions') return { by: 'actions', reason: 'configured' };
  if (!isServed) return { by: 'actions', reason: 'the hub does not serve ManifestWorks' };
  if (transport === 'work') return { by: 'work', reason: 'configured' };
  if (claimedTransports(managed).includes('works')) return { by: 'work', reason: "the cluster's agent says that it takes works" };
  const addOn = addOnOf(managed);
  return addOn === undefined
    ? { by: 'actions', reason: 'nothing says that a work agent answers on the cluster' }
    : { by: 'work', reason: `add-on ${addOn} is available, which a work agent installed` };
}

const ADD_ON = /^feature\.open-cluster-management\.io\/addon-(.+)$/;

/** Add-ons reach a cluster by ManifestWorks, so an available one proves that works are answered there (spec/ocm 2.1). */
function addOnOf(managed: ManagedCluster | undefined): string | undefined {
  for (const [label, value] of Object.entries(managed?.metadata.labels ?? {})) {
    const name = ADD_ON.exec(label)?.[1];
    if (name !== undefined && value === 'available') return name;
  }
  return undefined;
}
