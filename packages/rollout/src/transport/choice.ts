/** Chooses the transport to a spoke. Pure. */
import { claimedTransports, type ManagedCluster } from '@flotilla/api/ocm';
import { z } from 'zod';

/** Configured transport; `auto` uses works on clusters that are known to answer them. */
export const Transport = z.enum(['auto', 'work', 'actions']);
export type Transport = z.output<typeof Transport>;

/** A transport, and the reason for it. */
export interface Choice {
  readonly by: 'actions' | 'work';
  readonly reason: string;
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
