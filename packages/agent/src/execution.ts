import { foreign, isJsonObject, isSameJson, mergePatch, withCondition } from '@flotilla/api';
import { type ManagedClusterAction, type ManagedClusterView, ViewReason } from '@flotilla/api/ocm';
import { noMatchesForKind, parseResourceSpelling, type ServedResource, ServerRefusal } from '@flotilla/runtime';
import { z } from 'zod';
import type { SpokeAccess } from './access.ts';
import { type ActionVerdict, actionDone, actionFailed, checkScope, textOf, viewCondition, writeNamespace } from './semantics.ts';

type Kube = NonNullable<NonNullable<ManagedClusterAction['spec']>['kube']>;

/** Executes one action on a spoke and returns its status (spec/ocm 1.3 to 1.5). Never throws for a refusal of the spoke. */
export async function executeAction(action: ManagedClusterAction, spoke: SpokeAccess): Promise<ActionVerdict> {
  const type = action.spec?.actionType ?? '';
  const execute = EXECUTORS.get(type);
  if (!execute) return actionFailed(type, 'invalid action type');
  const kube = action.spec?.kube;
  // The stock agent panics here without a status, so a clear verdict loses nothing.
  if (!kube) return actionFailed(type, 'spec.kube is required: name the object or give its template');
  try {
    return await execute(kube, spoke);
  } catch (error) {
    return actionFailed(type, textOf(error));
  }
}

/** A map, because user input as the key of an object would also find `constructor`. */
const EXECUTORS: ReadonlyMap<string, (kube: Kube, spoke: SpokeAccess) => Promise<ActionVerdict>> = new Map([
  ['Create', executeCreate],
  ['Update', executeUpdate],
  ['Delete', executeDelete],
]);

async function executeCreate(kube: Kube, spoke: SpokeAccess): Promise<ActionVerdict> {
  const target = await templateTarget(kube, spoke);
  await spoke.create(target.served, target.namespace, target.template);
  return actionDone(target.template);
}

async function executeUpdate(kube: Kube, spoke: SpokeAccess): Promise<ActionVerdict> {
  const { served, namespace, name, template } = await templateTarget(kube, spoke);
  if (name === '') throw new ServerRefusal('name is required');
  const current = await spoke.get(served, namespace, name);
  // Keys outside the template become null (spec/ocm 1.4).
  const patch = mergePatch(current, template);
  if (!isJsonObject(patch)) return actionDone(null);
  await spoke.mergePatch(served, namespace, name, patch);
  return actionDone(template);
}

async function executeDelete(kube: Kube, spoke: SpokeAccess): Promise<ActionVerdict> {
  // The stock agent panics here too.
  if (!kube.resource) throw new ServerRefusal('spec.kube.resource is required: name the kind, for example "jobs.v1.batch"');
  if (!kube.name) throw new ServerRefusal('name is required');
  const served = await spoke.findResource(kube.resource);
  if (!served) throw new ServerRefusal(parseResourceSpelling(kube.resource).failure);
  checkScope(served, kube.namespace);
  await spoke.delete(served, kube.namespace || undefined, kube.name);
  return actionDone(null);
}

const TemplateHead = foreign(
  z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: z.string().default(''), namespace: z.string().optional() }).default({ name: '' }),
  }),
);

async function templateTarget(kube: Kube, spoke: SpokeAccess) {
  const { template } = kube;
  if (!template || Object.keys(template).length === 0) throw new ServerRefusal('unexpected end of JSON input');
  const head = TemplateHead.safeParse(template);
  if (!head.success)
    throw new ServerRefusal(`spec.kube.template: ${head.error.issues[0]?.path.join('.')}: ${head.error.issues[0]?.message}`);
  const { apiVersion, kind, metadata } = head.data;
  const served = await spoke.findKind(apiVersion, kind);
  if (!served) throw new ServerRefusal(noMatchesForKind(kind, apiVersion));
  return { served, namespace: writeNamespace(served, kube.namespace, metadata.namespace), name: metadata.name, template };
}

/** Status of a view after one read. */
type ViewStatus = NonNullable<ManagedClusterView['status']>;

/** Reads a view's object once and returns the view's next status; an error keeps the old result (spec/ocm 1.10, 1.11). */
export async function readView(view: ManagedClusterView, spoke: SpokeAccess, nowMs: number): Promise<ViewStatus> {
  const failed = (reason: (typeof ViewReason)[keyof typeof ViewReason], text: string): ViewStatus => ({
    ...view.status,
    conditions: withCondition(view.status?.conditions, viewCondition(reason, text), nowMs),
  });
  const target = await viewTarget(view, spoke);
  if ('reason' in target) return failed(target.reason, target.text);
  try {
    checkScope(target.served, target.namespace);
    const result = await spoke.get(target.served, target.namespace, target.name);
    const condition = viewCondition(ViewReason.getting, 'Watching resources successfully');
    return { ...view.status, conditions: withCondition(view.status?.conditions, condition, nowMs), result };
  } catch (error) {
    return failed(ViewReason.getFailed, PREFIX + textOf(error));
  }
}

/** True for equal statuses: a read without a change writes nothing, because there is no heartbeat. */
export const isSameStatus = (a: ViewStatus | null | undefined, b: ViewStatus | null | undefined): boolean =>
  isSameJson(a?.conditions ?? null, b?.conditions ?? null) && isSameJson(a?.result ?? null, b?.result ?? null);

const PREFIX = 'failed to get resource with err: ';
type Refused = { reason: (typeof ViewReason)[keyof typeof ViewReason]; text: string };
type Target = { served: ServedResource; namespace: string | undefined; name: string };

async function viewTarget(view: ManagedClusterView, spoke: SpokeAccess): Promise<Target | Refused> {
  const scope = view.spec?.scope ?? {};
  if (!scope.name) return { reason: ViewReason.nameInvalid, text: `${PREFIX}invalid resource name` };
  const found = await viewKind(scope, spoke);
  if ('reason' in found) return found;
  if (found.plural === 'secrets') return { reason: ViewReason.typeInvalid, text: 'viewing secrets is not allowed' };
  return { served: found, namespace: scope.namespace || undefined, name: scope.name };
}

async function viewKind(
  scope: NonNullable<NonNullable<ManagedClusterView['spec']>['scope']>,
  spoke: SpokeAccess,
): Promise<ServedResource | Refused> {
  try {
    if (scope.resource) {
      return (
        (await spoke.findResource(scope.resource)) ?? {
          reason: ViewReason.typeInvalid,
          text: PREFIX + parseResourceSpelling(scope.resource).failure,
        }
      );
    }
    if (!scope.kind || !scope.version) return { reason: ViewReason.typeInvalid, text: `${PREFIX}invalid resource type` };
    const apiVersion = scope.apiGroup ? `${scope.apiGroup}/${scope.version}` : scope.version;
    return (
      (await spoke.findKind(apiVersion, scope.kind)) ?? {
        reason: ViewReason.gvkInvalid,
        text: PREFIX + noMatchesForKind(scope.kind, apiVersion),
      }
    );
  } catch (error) {
    // Discovery failed: the spoke is unreachable, and the scope may be valid.
    return { reason: ViewReason.getFailed, text: PREFIX + textOf(error) };
  }
}
