import { z } from 'zod';

const Observed = z.looseObject({
  metadata: z.looseObject({ generation: z.number().optional(), deletionTimestamp: z.string().optional() }),
  status: z
    .looseObject({
      observedGeneration: z.number().optional(),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).optional(),
    })
    .optional(),
});

/** The published rules of kstatus for a custom resource, in their order. */
export function kstatus(given: unknown): 'Terminating' | 'InProgress' | 'Failed' | 'Current' {
  const { metadata, status } = Observed.parse(given);
  if (metadata.deletionTimestamp) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress';
  for (const { type, status: is } of status?.conditions ?? []) {
    if (type === 'Reconciling' && is === 'True') return 'InProgress';
    if (type === 'Stalled' && is === 'True') return 'Failed';
  }
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready && ready.status !== 'True' ? 'InProgress' : 'Current';
}
