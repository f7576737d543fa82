import { errorMessage, type KubeObject, KubeObject as KubeObjectSchema, type Ref, type Resource } from '@flotilla/api';
import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type BuildContext, builderOf, buildObject, type FieldChange, fieldChanges, intentOf, type Manifest } from '@flotilla/release';
import { ApiError, type Client, isNotFound } from '@flotilla/runtime';
import type { ServedKinds } from './cluster-view.ts';

/** What an update would do with an object. */
type PlannedAction = 'create' | 'change' | 'leave' | 'delete';

/** What an update would do with the object of a manifest, as the server itself judges it. */
export interface ObjectPlan {
  readonly manifest: Manifest;
  readonly action: PlannedAction;
  readonly changes: readonly FieldChange[];
  /** Why it is so, or what could not be asked. */
  readonly note: string;
  /** Why the server would refuse it; empty when it would not. */
  readonly refused: string;
}

/** What plans are made with. */
export interface PlanTools {
  readonly client: Client;
  readonly kinds: ServedKinds;
  readonly context: BuildContext;
  /** What the release itself brings, so that it need not be there yet. */
  readonly brought: { readonly namespaces: ReadonlySet<string>; readonly kinds: ReadonlySet<string> };
}

/** `group/version/Kind`. */
export const kindKeyOf = ({ group, version, kind }: Pick<Manifest, 'group' | 'version' | 'kind'>): string => `${group}/${version}/${kind}`;

/** Asks a server what would become of the object of a manifest. Every write that is asked for is a dry run. */
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

async function planChange(plan: Plan, { kind, live, built }: Found, { client }: PlanTools): Promise<ObjectPlan> {
  const { merge, differs } = builderOf(plan('change').manifest);
  if (!differs(live, built)) return plan('leave');
  try {
    const next = merge
      ? await client.replace(kind, KubeObjectSchema.parse(merge(live, built)), { dryRun: true })
      : await client.apply(kind, built, { fieldManager: VERSION_FIELD_MANAGER, force: true, dryRun: true });
    const changes = fieldChanges(live, next);
    if (changes.length === 0) return plan('leave', { note: 'differs only in what the server fills in' });
    return plan('change', { changes: kind.kind === 'Secret' ? changes.map(hidden) : changes });
  } catch (error) {
    return plan('change', { changes: [], refused: refusalOf(error) });
  }
}

/** A change of a Secret: what it is stays there. */
const hidden = ({ path, from, to }: FieldChange): FieldChange =>
  /^(?:data|stringData)\b/.test(path)
    ? { path, ...(from !== undefined && { from: '(hidden)' }), ...(to !== undefined && { to: '(hidden)' }) }
    : { path, from, to };

const refusalOf = (error: unknown): string =>
  error instanceof ApiError && error.serverMessage ? error.serverMessage : errorMessage(error);
