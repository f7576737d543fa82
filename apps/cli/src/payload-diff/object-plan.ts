import { errorMessage, type KubeObject, KubeObject as KubeObjectSchema, type Ref, type Resource } from '@flotilla/api';
import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { HorizontalPodAutoscaler } from '@flotilla/api/core';
import {
  type BuildContext,
  builderOf,
  buildObject,
  type FieldChange,
  fieldChanges,
  intentOf,
  isSameContent,
  keepScale,
  type Manifest,
} from '@flotilla/release';
import { ApiError, type Client, isForbidden, isNotFound, scaledKeyOf, scaleTargetOf } from '@flotilla/runtime';
import type { ServedKinds } from './cluster-view.ts';

/** Effect of an update on an object. */
type PlannedAction = 'create' | 'change' | 'leave' | 'delete';

/** Effect of an update on a manifest's object, by the server's own answer. */
export interface ObjectPlan {
  readonly manifest: Manifest;
  readonly action: PlannedAction;
  readonly changes: readonly FieldChange[];
  /** Reason for the action, or the check that was impossible. */
  readonly note: string;
  /** Refusal by the server; empty when it accepts. */
  readonly refused: string;
}

/** Dependencies of `planObject`. */
export interface PlanTools {
  readonly client: Client;
  readonly kinds: ServedKinds;
  readonly context: BuildContext;
  /** Namespaces and kinds of the release itself, which need not exist yet. */
  readonly brought: { readonly namespaces: ReadonlySet<string>; readonly kinds: ReadonlySet<string> };
  /** Keys of the objects that autoscalers name; asked once one is needed. */
  readonly scaled: () => Promise<ReadonlySet<string>>;
}

/** Builds `group/version/Kind`. */
export const kindKeyOf = ({ group, version, kind }: Pick<Manifest, 'group' | 'version' | 'kind'>): string => `${group}/${version}/${kind}`;

/** Asks the server for the effect on a manifest's object. All its writes are dry runs. */
export async function planObject(manifest: Manifest, tools: PlanTools): Promise<ObjectPlan> {
  const plan = (action: PlannedAction, rest: Partial<ObjectPlan> = {}): ObjectPlan => ({
    manifest,
    action,
    changes: [],
    note: '',
    refused: '',
    ...rest,
  });
  try {
    const intent = intentOf(manifest);
    const kind = await tools.kinds.find(manifest);
    if (!kind) return planUnknown(plan, manifest, tools, intent === 'delete');
    const ref: Ref = { ...(kind.namespaced && { namespace: manifest.namespace }), name: manifest.name };
    const live = await tools.client.get(kind, ref);
    if (intent === 'delete') return live ? plan('delete') : plan('leave', { note: 'is not there, as is wanted' });
    const built = KubeObjectSchema.parse(buildObject(manifest, manifest.object, tools.context));
    if (!live) return await planCreate(plan, kind, built, tools);
    if (intent === 'create-only') return plan('leave', { note: 'is there, and only created' });
    return await planChange(plan, { kind, live, built }, tools);
  } catch (error) {
    return plan('change', { refused: refusalOf(error) });
  }
}

type Plan = (action: PlannedAction, rest?: Partial<ObjectPlan>) => ObjectPlan;

function planUnknown(plan: Plan, manifest: Manifest, { brought }: PlanTools, isDeletion: boolean): ObjectPlan {
  if (isDeletion) return plan('leave', { note: 'is not there, as is wanted' });
  if (brought.kinds.has(kindKeyOf(manifest))) return plan('create', { note: 'its kind comes with this release; not asked' });
  return plan('create', {
    refused: `the server does not know ${manifest.kind} of ${manifest.group || 'the core group'}, version ${manifest.version}`,
  });
}

async function planCreate(plan: Plan, kind: Resource, built: KubeObject, { client, brought }: PlanTools): Promise<ObjectPlan> {
  try {
    await client.create(kind, built, { fieldManager: VERSION_FIELD_MANAGER, dryRun: true });
    return plan('create');
  } catch (error) {
    const { namespace = '' } = built.metadata;
    if (isNotFound(error) && brought.namespaces.has(namespace))
      return plan('create', { note: `namespace ${namespace} comes with this release; not asked` });
    return plan('create', { refused: refusalOf(error) });
  }
}

interface Found {
  readonly kind: Resource;
  readonly live: KubeObject;
  readonly built: KubeObject;
}

async function planChange(plan: Plan, { kind, live, built }: Found, { client, scaled: scaledKeys }: PlanTools): Promise<ObjectPlan> {
  const { manifest } = plan('change');
  const { merge, resembles } = builderOf(manifest);
  const merged = merge(live, built);
  const scaled = keepScale(live, merged);
  const next = scaled !== merged && (await scaledKeys()).has(scaledKeyOf(manifest)) ? scaled : merged;
  if (isSameContent(live, next)) return plan('leave');
  try {
    const stored = await client.replace(kind, KubeObjectSchema.parse(next), { fieldManager: VERSION_FIELD_MANAGER, dryRun: true });
    const changes = fieldChanges(live, stored);
    if (changes.length === 0) return plan('leave', { note: 'differs only in what the server fills in' });
    return plan('change', { changes: kind.kind === 'Secret' ? changes.map(hidden) : changes });
  } catch (error) {
    if (resembles(live, next))
      return plan('leave', { note: `compared without the server, which refused the dry run: ${refusalOf(error)}` });
    return plan('change', { changes: [], refused: refusalOf(error) });
  }
}

/** Lists the objects that autoscalers name, at the first call; without the right to list them none counts, as for the operator. */
export function scaledObjects(client: Client): PlanTools['scaled'] {
  let listed: Promise<ReadonlySet<string>> | undefined;
  const list = async () => {
    try {
      const { items } = await client.list(HorizontalPodAutoscaler);
      return new Set(items.flatMap((autoscaler) => scaleTargetOf(autoscaler) ?? []));
    } catch (error) {
      if (isForbidden(error) || isNotFound(error)) return new Set<string>();
      throw error;
    }
  };
  return () => {
    listed ??= list();
    return listed;
  };
}

/** Hides the values of a Secret. */
const hidden = ({ path, from, to }: FieldChange): FieldChange =>
  /^(?:data|stringData)\b/.test(path)
    ? { path, ...(from !== undefined && { from: '(hidden)' }), ...(to !== undefined && { to: '(hidden)' }) }
    : { path, from, to };

const refusalOf = (error: unknown): string =>
  error instanceof ApiError && error.serverMessage ? error.serverMessage : errorMessage(error);
