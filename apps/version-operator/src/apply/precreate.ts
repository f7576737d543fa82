import { KubeObject, type Resource } from '@flotilla/api';
import { ClusterOperator } from '@flotilla/api/config';
import type { ExpectedOperator, Json } from '@flotilla/release';
import { isAlreadyExists, isConflict } from '@flotilla/runtime';
import type { LiveObject } from '../cluster/live-object.ts';
import type { Wanted } from '../payload/wanted.ts';
import type { StepPurpose, StepTools } from './manifest-step.ts';

const TRIES = 3;

/** Creates a ClusterOperator that is not there, with its related objects: diagnostics are collected by them from the first moment. */
export async function precreateOperator(
  wanted: Wanted,
  { relatedObjects }: ExpectedOperator,
  { context }: StepPurpose,
  tools: StepTools,
): Promise<void> {
  const { live, writer } = tools;
  if (!(await live.read(wanted.kindKey)) || live.get(wanted)) return;
  const kind = live.kinds.find(wanted.kindKey);
  if (!kind) return;
  try {
    const created = await writer.create(kind, wanted.build(context));
    if (!created) return;
    live.take(wanted, created, 'written');
    if (relatedObjects.length > 0) await tellRelated(kind, created, relatedObjects, tools);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** An operator that is quicker than we are may have written its status in between, and with it maybe what is related to it. */
async function tellRelated(
  kind: Resource<LiveObject>,
  created: KubeObject,
  relatedObjects: readonly Json[],
  tools: StepTools,
): Promise<void> {
  const { writer, client, budget } = tools;
  let object: KubeObject | undefined = created;
  for (let tries = 1; object && tries <= TRIES; tries++) {
    try {
      return await writer.patchStatus(kind, object, { relatedObjects });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    object = await budget.run(() => client.get<KubeObject>({ ...kind, schema: KubeObject }, created.metadata));
    if (ClusterOperator.schema.safeParse(object).data?.status?.relatedObjects?.length) return;
  }
}
