/** An inspection by actions and a view: one action for each object, a view of the Job, one action that deletes the namespace. */
import { Annotation, findCondition, isJsonObject, type KubeObject, Label } from '@flotilla/api';
import { ACTION_COMPLETED, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { INSPECT_LABEL, INSPECT_NAMESPACE, INSPECT_WORK, SpokeName } from '@flotilla/api/ran';
import type { SpokeObject } from '@flotilla/rollout';
import { follow } from '../../hub/follow.ts';
import { createFor, type Inspection, InspectRefusal, type InspectTransport, parseAnswer, rehearse } from './transport.ts';

/** Seconds between two reads of the Job by the agent. */
const READ_EVERY = 3;

const nameOf = ({ kind, metadata }: SpokeObject): string => `${INSPECT_WORK}-${kind.toLowerCase()}-${metadata.name}`.slice(0, 63);
const DELETION = `${INSPECT_WORK}-delete`;

const metadataOf = ({ cluster, id }: Inspection, name: string) => ({
  name,
  namespace: cluster,
  labels: { [Label.work]: INSPECT_LABEL },
  annotations: { [Annotation.attempt]: id },
});

function creation(inspection: Inspection, object: SpokeObject): KubeObject {
  const { namespace } = object.metadata;
  const kube = { resource: object.kind.toLowerCase(), ...(namespace !== undefined && { namespace }), template: object };
  return { metadata: metadataOf(inspection, nameOf(object)), spec: { actionType: 'Create', kube } } as KubeObject;
}

/** Creates an action and waits until the agent has carried it out. */
async function carryOut(inspection: Inspection, action: KubeObject, signal: AbortSignal): Promise<void> {
  const { client, cluster } = inspection;
  const { name } = action.metadata;
  await createFor(inspection, ManagedClusterAction, action, signal);
  for await (const found of follow(client, ManagedClusterAction, { namespace: cluster, name }, signal)) {
    if (!found) throw new InspectRefusal(`ManagedClusterAction ${name} has been deleted`);
    const completed = findCondition(found.status?.conditions, ACTION_COMPLETED);
    if (completed?.status === 'True') return;
    if (completed?.status === 'False') throw new InspectRefusal(completed.message.slice(0, 300));
  }
  throw signal.reason;
}

function readJob({ status }: ManagedClusterView) {
  const job = isJsonObject(status?.result) ? status.result : {};
  const annotations = isJsonObject(job.metadata) && isJsonObject(job.metadata.annotations) ? job.metadata.annotations : {};
  const text = annotations[Annotation.inventory];
  const answer = parseAnswer(typeof text === 'string' ? text : undefined);
  if (answer) return answer;
  const conditions = isJsonObject(job.status) && Array.isArray(job.status.conditions) ? job.status.conditions : [];
  const failed = conditions.find((condition) => isJsonObject(condition) && condition.type === 'Failed');
  if (isJsonObject(failed)) throw new InspectRefusal(`its Job failed: ${String(failed.message).slice(0, 300)}`);
  return undefined;
}

/** By actions and views. */
export const byActions: InspectTransport = {
  writes: `ManagedClusterActions and a ManagedClusterView ${INSPECT_WORK}-*`,
  async check(inspection) {
    const [first] = inspection.objects;
    if (first) await rehearse(inspection, ManagedClusterAction, creation(inspection, first));
  },
  async ask(inspection, signal) {
    const { client, cluster, objects } = inspection;
    for (const object of objects) await carryOut(inspection, creation(inspection, object), signal);
    const name = `${INSPECT_WORK}-job`;
    // A view that is older than its object is blind for an interval.
    const scope = { resource: 'jobs', name: SpokeName.job, namespace: INSPECT_NAMESPACE, updateIntervalSeconds: READ_EVERY };
    await client.create(ManagedClusterView, { metadata: metadataOf(inspection, name), spec: { scope } } as KubeObject, { signal });
    for await (const view of follow(client, ManagedClusterView, { namespace: cluster, name }, signal)) {
      if (!view) throw new InspectRefusal('its view has been deleted');
      const answer = readJob(view);
      if (answer) return answer;
    }
    throw signal.reason;
  },
  async remove(inspection, signal) {
    const { client, cluster, id } = inspection;
    const list = { namespace: cluster, labelSelector: `${Label.work}=${INSPECT_LABEL}`, signal };
    const isOurs = ({ metadata }: KubeObject) => metadata.annotations?.[Annotation.attempt] === id;
    const actions = (await client.list(ManagedClusterAction, list)).items.filter(isOurs);
    const views = (await client.list(ManagedClusterView, list)).items.filter(isOurs);
    if (actions.length === 0 && views.length === 0) return true;
    for (const { metadata } of views) await client.delete(ManagedClusterView, metadata, { signal });
    // An action that nobody has carried out must not be later.
    for (const { metadata } of actions) await client.delete(ManagedClusterAction, metadata, { signal });
    const kube = { resource: 'namespace', name: INSPECT_NAMESPACE };
    const deletion = { metadata: metadataOf(inspection, DELETION), spec: { actionType: 'Delete', kube } } as KubeObject;
    // One of an earlier inspection, whose agent was too slow, wants the same.
    await client.delete(ManagedClusterAction, { namespace: cluster, name: DELETION }, { signal });
    await carryOut(inspection, deletion, signal);
    await client.delete(ManagedClusterAction, { namespace: cluster, name: DELETION }, { signal });
    return true;
  },
};
