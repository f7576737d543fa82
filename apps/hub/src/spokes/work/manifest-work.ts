/** The one ManifestWork that carries a job to a spoke: applied, the job starts; deleted, the spoke is clean (spec/ocm 4.1). Pure. */
import { Annotation, type KubeObject } from '@flotilla/api';
import { type ManifestConfig, ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { workLabels } from '@flotilla/rollout';
import { ActionAnnotation } from '../actions/hub-objects.ts';
import type { ObjectPlace } from '../port/port.ts';
import type { SpokeManifest } from '../port/workload.ts';
import { FEEDBACK } from './feedback.ts';

type Template = SpokeManifest['template'];

/** Which creation of the objects of a job this is: what an earlier one left proves nothing. */
export interface Attempt {
  /** Never the same twice for one spoke. */
  readonly id: string;
  /** How often the job vanished from the spoke and was made again. */
  readonly losses: number;
}

/** What a work carries. */
interface JobWork {
  readonly manifests: readonly SpokeManifest[];
  readonly attempt: Attempt;
}

const FROZEN = 'flotilla.io/frozen';
/** On a work whose job has ended without success: it is kept with what it put on the spoke, and begins nothing. */
export const frozenMark = { [FROZEN]: 'true' } as const;
/** True for such a work. */
export const isFrozen = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean => metadata.annotations?.[FROZEN] === 'true';

/** The mark on the Job: a later one is another job. */
const jobAttempt = ({ id, losses }: Attempt): string => `${id}.${losses}`;

/** The work, in the spoke's hub namespace. */
export function buildJobWork(place: ObjectPlace, work: JobWork): KubeObject {
  const { job, upgrade, cluster, digest } = place;
  const { id, losses } = work.attempt;
  return {
    apiVersion: ManifestWork.apiVersion,
    kind: ManifestWork.kind,
    metadata: {
      name: job.names.manifestWork,
      namespace: cluster,
      labels: workLabels(upgrade, job.work),
      // The agent would put it there before it applies anything: this way it begins at once, and nobody writes for it.
      finalizers: [WORK_FINALIZER],
      annotations: {
        [Annotation.attempt]: id,
        ...(digest !== undefined && { [Annotation.specDigest]: digest }),
        ...(losses > 0 && { [ActionAnnotation.refusals]: String(losses) }),
      },
    },
    spec: workSpec(place, work),
  };
}

/** `spec` of the work: the manifests in the order in which they are needed, and what is read back. */
export function workSpec(place: ObjectPlace, { manifests, attempt }: JobWork): Record<string, unknown> {
  // What the job does without comes after it.
  const ordered = [...manifests.filter(({ afterJob }) => !afterJob), ...manifests.filter(({ afterJob }) => afterJob)];
  const templates = ordered.map(({ template }) => marked(template, place, attempt));
  return {
    workload: { manifests: templates },
    deleteOption: { propagationPolicy: 'Foreground' },
    manifestConfigs: templates.flatMap(configOf),
  };
}

/**
 * Options under which agents leave the objects as they are, and still remove them with the work: nothing of a job that has ended is made
 * again, not even by an agent that was away.
 */
export const frozenConfigs = (manifests: readonly SpokeManifest[]): ManifestConfig[] =>
  manifests.map(({ template }) => ({ resourceIdentifier: identify(template), updateStrategy: { type: 'ReadOnly' } }));

/** Whose an object is stands on it: the namespace's and the Job's first creator, for neither is ever changed by a later one. */
function marked(template: Template, { upgrade, digest }: ObjectPlace, attempt: Attempt): Template {
  if (template.kind !== 'Namespace' && template.kind !== 'Job') return template;
  const metadata = Object(template.metadata);
  const annotations = {
    ...metadata.annotations,
    [Annotation.upgradeUid]: upgrade.uid,
    ...(digest !== undefined && { [Annotation.specDigest]: digest }),
    [Annotation.attempt]: template.kind === 'Job' ? jobAttempt(attempt) : attempt.id,
  };
  return { ...template, metadata: { ...metadata, annotations } };
}

function configOf(template: Template): ManifestConfig[] {
  const resourceIdentifier = identify(template);
  const updateStrategy = { type: 'CreateOnly' };
  if (template.kind === 'Namespace') return [{ resourceIdentifier, updateStrategy, feedbackRules: FEEDBACK.namespace }];
  // Seen at once where the agent can watch; the others look every 10 to 19 s (spec/ocm 4.3).
  if (template.kind === 'Job') return [{ resourceIdentifier, updateStrategy, feedbackRules: FEEDBACK.job, feedbackScrapeType: 'Watch' }];
  return [];
}

/** Every kind that jobs are made of has a regular plural. */
function identify({ apiVersion, kind, metadata }: Template): ManifestConfig['resourceIdentifier'] {
  const { name, namespace } = Object(metadata);
  const group = String(apiVersion).includes('/') ? String(apiVersion).split('/')[0] : '';
  return {
    group,
    resource: `${kind.toLowerCase()}s`,
    name: String(name),
    ...(namespace !== undefined && { namespace: String(namespace) }),
  };
}
