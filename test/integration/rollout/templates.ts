import { Annotation, findCondition } from '@flotilla/api';
import { type ManifestWork, ManifestWorkReplicaSet, type ManifestWorkSpec, WORK_APPLIED, WORK_AVAILABLE } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';

/** Replicas that a cluster must report ready before the template is done there. */
const READY_REPLICAS = '2';

/** Annotation value by which a template is done when so many replicas of its first manifest are ready. */
export const readyReplicas = (value: string): string => JSON.stringify([{ manifestIndex: 0, name: 'ReadyReplicas', value }]);

/** What a template is made of. */
interface TemplateOptions {
  /** Default: `default`. */
  readonly namespace?: string;
  /** Annotation of expected values. */
  readonly expected?: string | undefined;
  /** Default: a Deployment of the template's name. */
  readonly deployment?: { readonly name: string; readonly image: string };
  readonly spec?: Partial<ManifestWorkSpec> | undefined;
}

/** Creates a template of one Deployment, which is done when its two replicas are ready unless `expected` says otherwise. */
export async function createTemplate(
  client: Client,
  name: string,
  {
    namespace = 'default',
    expected = readyReplicas(READY_REPLICAS),
    deployment: { name: object, image } = { name, image: 'registry.test/app:1' },
    spec,
  }: TemplateOptions = {},
): Promise<void> {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: object, namespace: 'default' },
    spec: { replicas: Number(READY_REPLICAS), template: { spec: { containers: [{ name: 'main', image }] } } },
  };
  const feedback = {
    resourceIdentifier: { group: 'apps', resource: 'deployments', name: object, namespace: 'default' },
    feedbackRules: [{ type: 'WellKnownStatus' }],
  };
  await client.create(ManifestWorkReplicaSet, {
    metadata: { name, namespace, annotations: { [Annotation.expectedValues]: expected } },
    spec: {
      placementRefs: [{ name: 'dummy' }],
      manifestWorkTemplate: { workload: { manifests: [deployment] }, manifestConfigs: [feedback], ...spec },
    },
  });
}

/** Whether a work of such a template says that its cluster is there: applied, available, and the replicas are ready. */
export function isTemplateDone({ metadata, status }: ManifestWork): boolean {
  const holds = (type: string) => {
    const condition = findCondition(status?.conditions, type);
    return condition?.status === 'True' && condition.observedGeneration === metadata.generation;
  };
  const values = status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values ?? [];
  const ready = values.find(({ name }) => name === 'ReadyReplicas')?.fieldValue.integer;
  return holds(WORK_APPLIED) && holds(WORK_AVAILABLE) && ready === Number(READY_REPLICAS);
}

/** Name of the template that a work of the upgrade was made from: without namespace and suffix. */
export const templateOf = (work: string): string => work.replace(/^default\./, '').replace(/-[a-z0-9]{5}$/, '');
