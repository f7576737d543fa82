/** Builds observations of a spoke for the tests of this folder. */

import { type KubeObject, Label, type Ref, type Resource, refKey, WaitingError } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { SpokeName } from '@flotilla/api/ran';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { ApiError, type Client, WatchCache } from '@flotilla/runtime';
import type { JobState, StepContext } from '../src/spokes/jobs/kind.ts';
import type { PrecacheSettings } from '../src/spokes/jobs/kinds/precache/inputs.ts';
import type { PrecacheInputs, PrecacheJob } from '../src/spokes/jobs/kinds/precache/job.ts';
import { planStep, type StepPlan } from '../src/spokes/jobs/plan.ts';
import {
  type ActionObservation,
  type ActionsSpoke,
  toObservation,
  type ViewObservation,
} from '../src/spokes/transports/actions/observe.ts';
import { ActionsEffects } from '../src/spokes/transports/actions/plan.ts';
import type { Answer, SpokeJobNames, SpokeObject, SpokeReach, SpokeTask } from '../src/spokes/transports/port/port.ts';
import { applySpokePlan } from '../src/spokes/transports/reach.ts';

/** The upgrade under test. */
export const UPGRADE: UpgradeIdentity = { namespace: 'default', name: 'upgrade', uid: 'uid-1' };

/** Settings of a hub for pre-caching. */
export const buildPrecacheSettings = (parts: Partial<PrecacheSettings> = {}): PrecacheSettings => ({
  image: '',
  profile: 'least-privilege',
  imageAllow: [],
  variables: {},
  caBundle: '',
  jobViewSeconds: 4,
  progressViewSeconds: 5,
  graceMs: 0,
  ...parts,
});

/** Builds that upgrade's task on the spoke. */
export const buildTask = (
  job: PrecacheJob,
  { digest, ...inputs }: Partial<PrecacheInputs> & { readonly digest?: string } = {},
): SpokeTask => ({
  job,
  upgrade: UPGRADE,
  cluster: 'spoke',
  digest,
  workload: job.workload(
    { spec: {}, image: 'puller', profile: 'least-privilege', jobSeconds: 60, ...inputs },
    { upgradeUid: UPGRADE.uid, managed: undefined, clusters: 1 },
  ),
});

/** Builds an available spoke without any object. */
export const buildSpoke = (parts: Partial<ActionsSpoke> = {}): ActionsSpoke => ({
  available: true,
  namespaceView: undefined,
  jobView: undefined,
  actions: new Map(),
  ...parts,
});

/** Builds that spoke as steps reach it. */
export const reachBuilt = (names: SpokeJobNames, spoke: ActionsSpoke): SpokeReach => ({
  by: 'actions',
  spoke: toObservation(names, spoke),
  effects: (task, state, plan) => new ActionsEffects(task, spoke, state, plan),
});

/** Builds a view of ours with an answer. */
export const buildView = (answer: Answer, parts: Partial<ViewObservation> = {}): ViewObservation => ({
  uid: 'view-uid',
  createdAt: 0,
  ours: true,
  intervalSeconds: 0,
  digest: undefined,
  answer,
  ...parts,
});

/** Builds an executed action of ours. */
export const buildAction = (parts: Partial<ActionObservation> = {}): ActionObservation => ({
  uid: 'action-uid',
  ours: true,
  template: undefined,
  retries: 0,
  refusals: 0,
  deletes: undefined,
  digest: undefined,
  outcome: 'executed',
  message: '',
  createdAt: 0,
  completedAt: 0,
  ...parts,
});

/** Builds an answer with Job `pre-cache` and its status. */
export const foundJob = (status: unknown, annotations?: Record<string, string>): Answer => ({
  kind: 'found',
  object: { kind: 'Job', metadata: { name: SpokeName.job, namespace: SpokeName.namespace, annotations }, status },
});

/** Builds an answer with namespace `openshift-talo-pre-cache`. */
export const foundNamespace = (metadata: Partial<SpokeObject['metadata']> = {}): Answer => ({
  kind: 'found',
  object: { kind: 'Namespace', metadata: { name: SpokeName.namespace, ...metadata } },
});

/** Builds a ManagedClusterView as the API server has it; labels can give it another owner. */
export const viewObject = (
  name: string,
  status?: unknown,
  labels: Record<string, string> = { [Label.upgradeUid]: UPGRADE.uid },
): ManagedClusterView =>
  ManagedClusterView.schema.parse({
    metadata: { name, namespace: 'spoke', uid: `${name}-uid`, labels, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { scope: {} },
    ...(status !== undefined && { status }),
  });

/** Builds a condition as agents write it. */
export const agentCondition = (type: string, status: 'True' | 'False', reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:01:00Z',
});

/** Builds a ManagedClusterAction of ours, with or without an outcome. */
export const actionObject = (
  name: string,
  condition?: ReturnType<typeof agentCondition>,
  annotations: Record<string, string> = {},
): ManagedClusterAction =>
  ManagedClusterAction.schema.parse({
    metadata: {
      name,
      namespace: 'spoke',
      uid: `${name}-uid`,
      labels: { [Label.upgradeUid]: UPGRADE.uid },
      annotations,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    ...(condition && { status: { conditions: [condition] } }),
  });

/** Builds an available or unavailable ManagedCluster. */
export const clusterObject = (available: boolean): ManagedCluster =>
  ManagedCluster.schema.parse({
    metadata: { name: 'spoke' },
    status: { conditions: [agentCondition(CLUSTER_AVAILABLE, available ? 'True' : 'False', 'Test')] },
  });

/** Plans a step and applies the plan to this client; a step that waits for the caches is planned again later. */
export async function runStep<S extends JobState>(
  task: SpokeTask,
  states: Parameters<typeof planStep<S>>[1],
  reach: SpokeReach,
  context: StepContext<S>,
  client: Client,
): Promise<Omit<StepPlan<S>, 'writes'>> {
  const { writes, ...outcome } = planStep(task, states, reach, context);
  await applyPlanned({ writes }, task, client);
  return outcome;
}

/** Applies a plan for the spoke to this client, which no cache follows. */
export async function applyPlanned(plan: Parameters<typeof applySpokePlan>[0], task: SpokeTask, client: Client): Promise<void> {
  const caches = {
    views: new WatchCache(client, ManagedClusterView),
    actions: new WatchCache(client, ManagedClusterAction),
    works: new WatchCache(client, ManifestWork),
  };
  await applySpokePlan(plan, task, { client, caches, signal: new AbortController().signal }).catch((error: unknown) => {
    if (!(error instanceof WaitingError)) throw error;
  });
}

/** Creates a client that keeps created objects and records every write as `verb plural name`. */
export function recordingClient(existing: readonly KubeObject[] = []): { client: Client; writes: string[]; created: KubeObject[] } {
  const writes: string[] = [];
  const created: KubeObject[] = [];
  const objects = new Map(existing.map((object) => [refKey(object.metadata), object]));
  const refuse = (): never => {
    throw new Error('a step must not make this call');
  };
  const client: Client = {
    server: 'https://hub.test',
    get: async <T extends KubeObject>(kind: Resource<T>, ref: Ref) => {
      const found = objects.get(refKey(ref));
      return found && kind.schema.parse(found);
    },
    create: async <T extends KubeObject>(kind: Resource<T>, object: KubeObject) => {
      const key = refKey(object.metadata);
      writes.push(`create ${kind.plural} ${object.metadata.name}`);
      if (objects.has(key))
        throw new ApiError('FLOTILLA_API_ALREADY_EXISTS', key, { status: 409, reason: 'AlreadyExists', serverMessage: 'already exists' });
      objects.set(key, object);
      created.push(object);
      return kind.schema.parse(object);
    },
    delete: async (kind, ref, options) => {
      writes.push(`delete ${kind.plural} ${ref.name} ${options?.uid ?? ''}`.trim());
      return objects.delete(refKey(ref));
    },
    deleteCollection: async (kind, { labelSelector }) => void writes.push(`deleteCollection ${kind.plural} ${labelSelector}`),
    list: refuse,
    replace: refuse,
    patch: refuse,
    apply: refuse,
    watch: refuse,
    getText: refuse,
    request: refuse,
    close: async () => {},
  };
  return { client, writes, created };
}
