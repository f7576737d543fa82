import type { ExpectedOperator } from '@flotilla/release';
import { isAlreadyExists, isConflict } from '@flotilla/runtime';
import type { Wanted } from '../payload/wanted.ts';
import type { StepPurpose, StepTools } from './manifest-step.ts';

/** Creates a ClusterOperator that is not there, with its related objects: diagnostics are collected by them from the first moment. */
export async function precreateOperator(
  wanted: Wanted,
  { relatedObjects }: ExpectedOperator,
  { context }: StepPurpose,
  { live, writer }: StepTools,
): Promise<void> {
  if (!(await live.read(wanted.kindKey)) || live.get(wanted)) return;
  const kind = live.kinds.find(wanted.kindKey);
  if (!kind) return;
  try {
    const created = await writer.create(kind, wanted.build(context));
    if (!created) return;
    live.take(wanted, created, 'written');
    if (relatedObjects.length > 0) await writer.patchStatus(kind, created, { relatedObjects });
  } catch (error) {
    if (!isAlreadyExists(error) && !isConflict(error)) throw error;
  }
}
