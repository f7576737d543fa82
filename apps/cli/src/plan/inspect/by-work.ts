/** An inspection by one ManifestWork: its deletion takes everything away. */
import { Annotation, findCondition, type KubeObject, Label } from '@flotilla/api';
import { type ManifestStatus, ManifestWork, WORK_APPLIED } from '@flotilla/api/ocm';
import { INSPECT_LABEL, INSPECT_WORK, type InspectAnswer } from '@flotilla/api/ran';
import { follow } from '../../hub/follow.ts';
import { createFor, type Inspection, InspectRefusal, type InspectTransport, parseAnswer, rehearse } from './transport.ts';

/** Names of feedback values. */
const Value = { inventory: 'inventory', verdict: 'verdict', message: 'message' } as const;
const path = (name: string): string => `.metadata.annotations.${name.replaceAll('.', '\\.')}`;
const FEEDBACK = [
  {
    type: 'JSONPaths',
    jsonPaths: [
      { name: Value.inventory, path: path(Annotation.inventory) },
      { name: Value.verdict, path: '.status.conditions[0].type' },
      { name: Value.message, path: '.status.conditions[0].message' },
    ],
  },
];
/** Words of a refusal for good. */
const FINAL = /forbidden|denied|is invalid/i;

const refOf = ({ cluster }: Inspection) => ({ namespace: cluster, name: INSPECT_WORK });

/** Without a finalizer: the agent sets its own, and where there is none a deletion is the end. */
function workOf({ cluster, id, objects }: Inspection): KubeObject {
  return {
    apiVersion: ManifestWork.apiVersion,
    kind: ManifestWork.kind,
    metadata: {
      name: INSPECT_WORK,
      namespace: cluster,
      labels: { [Label.work]: INSPECT_LABEL },
      annotations: { [Annotation.attempt]: id },
    },
    spec: {
      workload: { manifests: objects },
      deleteOption: { propagationPolicy: 'Foreground' },
      manifestConfigs: objects
        .filter(({ kind }) => kind === 'Job')
        .map(({ metadata }) => ({
          resourceIdentifier: { group: 'batch', resource: 'jobs', ...metadata },
          updateStrategy: { type: 'CreateOnly' },
          feedbackRules: FEEDBACK,
          feedbackScrapeType: 'Watch',
        })),
    },
  } as KubeObject;
}

/** Reads what a work's objects say; undefined while they say nothing. */
function readAnswer({ status }: ManifestWork): InspectAnswer | undefined {
  const manifests = status?.resourceStatus?.manifests ?? [];
  const refused = manifests
    .flatMap((manifest) => findCondition(manifest.conditions, WORK_APPLIED) ?? [])
    .find(({ status: is }) => is === 'False');
  if (refused && FINAL.test(refused.message)) throw new InspectRefusal(refused.message.slice(0, 300));
  const job = manifests.find(({ resourceMeta }) => resourceMeta.kind === 'Job');
  const value = (name: string) => feedbackOf(job, name);
  const answer = parseAnswer(value(Value.inventory));
  if (answer) return answer;
  const verdict = value(Value.verdict);
  if (verdict === 'Failed' || verdict === 'FailureTarget') throw new InspectRefusal(`its Job failed: ${value(Value.message) ?? ''}`);
  return undefined;
}

const feedbackOf = (manifest: ManifestStatus | undefined, name: string): string | undefined =>
  manifest?.statusFeedback?.values?.find((value) => value.name === name)?.fieldValue.string;

/** By ManifestWork. */
export const byWork: InspectTransport = {
  writes: `ManifestWork ${INSPECT_WORK}`,
  check: (inspection) => rehearse(inspection, ManifestWork, workOf(inspection)),
  async ask(inspection, signal) {
    await createFor(inspection, ManifestWork, workOf(inspection), signal);
    for await (const work of follow(inspection.client, ManifestWork, refOf(inspection), signal)) {
      if (!work) throw new InspectRefusal('its ManifestWork has been deleted');
      const answer = readAnswer(work);
      if (answer) return answer;
    }
    throw signal.reason;
  },
  async remove(inspection, signal) {
    const { client, id } = inspection;
    const found = await client.get(ManifestWork, refOf(inspection), { signal });
    if (!found || found.metadata.annotations?.[Annotation.attempt] !== id) return true;
    const uid = found.metadata.uid ?? '';
    await client.delete(ManifestWork, refOf(inspection), { uid, signal });
    for await (const work of follow(client, ManifestWork, refOf(inspection), signal)) if (work?.metadata.uid !== uid) return true;
    return false;
  },
};
