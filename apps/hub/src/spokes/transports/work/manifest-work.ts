/**
 * Builds the single ManifestWork that carries a job to a spoke: its creation starts the job, its deletion cleans the spoke (spec/ocm 4.1),
 * and its feedback rules tell of it (spec/ocm 4.2). Pure.
 */
import { Annotation, type KubeObject } from '@flotilla/api';
import { type ManifestConfig, ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import { workLabels } from '@flotilla/rollout';
import { ActionAnnotation } from '../actions/hub-objects.ts';
import type { ObjectPlace, SpokeManifest } from '../port/port.ts';

/** Names of feedback values. */
export const Value = {
  /** Attempt that created the object. It implies owner and spec, which the attempt's work carries. */
  attempt: 'attempt',
  /** Deletion timestamp of the namespace. */
  leaving: 'leaving',
  active: 'active',
  ready: 'ready',
  /** Type of the Job's first condition; `reason` and `message` are its fields. */
  verdict: 'verdict',
  reason: 'reason',
  message: 'message',
  /** Report of the puller, as JSON, from the same read as the verdict. */
  progress: 'progress',
} as const;

type Rules = NonNullable<ManifestConfig['feedbackRules']>;

const rule = (paths: Readonly<Record<string, string>>): Rules => [
  { type: 'JSONPaths', jsonPaths: Object.entries(paths).map(([name, path]) => ({ name, path })) },
];

const annotation = (name: string): string => `.metadata.annotations.${name.replaceAll('.', '\\.')}`;

/** The attempt comes from the same read as the other values, so that a verdict and its owner belong together. */
const IDENTITY = { [Value.attempt]: annotation(Annotation.attempt) };

/**
 * Reads the first condition of a Job, which stays first: `SuccessCriteriaMet` or `FailureTarget` precede `Complete` or `Failed`. So the end of a Job
 * is one change. Clusters before Kubernetes 1.31 have the latter alone. A filter by type would find nothing, or change twice.
 */
const verdict = (field: string): string => `.status.conditions[0].${field}`;

/** Rules by kind. Each value decides something: every value costs the hub in each write of the agent, and each change is a write. */
const FEEDBACK = {
  namespace: rule({ ...IDENTITY, [Value.leaving]: '.metadata.deletionTimestamp' }),
  job: rule({
    ...IDENTITY,
    [Value.active]: '.status.active',
    [Value.ready]: '.status.ready',
    [Value.verdict]: verdict('type'),
    [Value.reason]: verdict('reason'),
    [Value.message]: verdict('message'),
    [Value.progress]: annotation(Annotation.progress),
  }),
};

type Template = SpokeManifest['template'];

/** Creation of a job's objects: objects of an earlier attempt prove nothing. */
export interface Attempt {
  /** Unique per spoke. */
  readonly id: string;
  /** Number of times the job vanished from the spoke and was created again. */
  readonly losses: number;
}

/** Content of a work. */
interface JobWork {
  readonly manifests: readonly SpokeManifest[];
  readonly attempt: Attempt;
  /** Mark of the cap that the manifests have. */
  readonly cap?: Readonly<Record<string, string>>;
}

const FROZEN = 'flotilla.io/frozen';
/** Mark of a work whose job ended without success: the work and its objects stay, and nothing begins. */
export const frozenMark = { [FROZEN]: 'true' } as const;
/** True for a frozen work. */
export const isFrozen = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean => metadata.annotations?.[FROZEN] === 'true';

/** Mark of the Job; another mark is another job. */
const jobAttempt = ({ id, losses }: Attempt): string => `${id}.${losses}`;

/** Builds the work in the spoke's hub namespace. */
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
      // The agent needs its finalizer before it applies anything; setting it here saves a write and lets the agent begin at once.
      finalizers: [WORK_FINALIZER],
      annotations: {
        [Annotation.attempt]: id,
        ...(digest !== undefined && { [Annotation.specDigest]: digest }),
        ...work.cap,
        ...(losses > 0 && { [ActionAnnotation.refusals]: String(losses) }),
      },
    },
    spec: workSpec(place, work),
  };
}

/** Builds `spec` of the work: manifests in the order of need, and feedback rules. */
export function workSpec(place: ObjectPlace, { manifests, attempt }: JobWork): Record<string, unknown> {
  // The job needs no manifest that follows it.
  const ordered = [...manifests.filter(({ afterJob }) => !afterJob), ...manifests.filter(({ afterJob }) => afterJob)];
  const templates = ordered.map(({ template }) => marked(template, place, attempt));
  return {
    workload: { manifests: templates },
    deleteOption: { propagationPolicy: 'Foreground' },
    manifestConfigs: templates.flatMap(configOf),
  };
}

/**
 * Options that make agents leave the objects unchanged and still remove them with the work. No agent recreates an ended job, not even one that was
 * away.
 */
export const frozenConfigs = (manifests: readonly SpokeManifest[]): ManifestConfig[] =>
  manifests.map(({ template }) => ({ resourceIdentifier: identify(template), updateStrategy: { type: 'ReadOnly' } }));

/** Marks namespace and Job with owner, spec and attempt: later attempts never change either object, so the marks name the creator. */
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
  // Our agent makes its account where it creates it.
  if (template.kind === 'DaemonSet') return [{ resourceIdentifier, updateStrategy }];
  // Agents with a watch report at once; others poll every 10 to 19 s (spec/ocm 4.3).
  if (template.kind === 'Job') return [{ resourceIdentifier, updateStrategy, feedbackRules: FEEDBACK.job, feedbackScrapeType: 'Watch' }];
  return [];
}

/** Every kind of a job's objects has a regular plural. */
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
