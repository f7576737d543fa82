/** What the views of a rollout say (spec/ocm 1.10, 1.12). Pure. */
import { findCondition, type ManagedClusterView, VIEW_PROCESSING, ViewReason } from '@flotilla/api';
import { z } from 'zod';

const GROUP = 'operators.coreos.com/';
/** A view is named after what a spoke says; the hub takes it only when it can be a name. */
const Name = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
const Texts = z.record(z.string(), z.string()).nullish();

/** A Subscription as far as an approval needs it. Either field names the InstallPlan. */
export const Subscription = z.object({
  apiVersion: z.string().startsWith(GROUP),
  kind: z.literal('Subscription'),
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  status: z
    .object({
      state: z.string().optional(),
      installPlanRef: z.object({ name: Name, namespace: Name.optional() }).nullish(),
      installplan: z.object({ name: Name }).nullish(),
    })
    .nullish(),
});
export type Subscription = z.output<typeof Subscription>;

/** An InstallPlan without its status. What an update does not name is removed, so all that a user may have set is kept (spec/ocm 1.4). */
export const InstallPlan = z.object({
  apiVersion: z.string().startsWith(GROUP),
  kind: z.literal('InstallPlan'),
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    resourceVersion: z.string().min(1),
    labels: Texts,
    annotations: Texts,
    finalizers: z.array(z.string()).nullish(),
    ownerReferences: z.array(z.unknown()).nullish(),
  }),
  spec: z.looseObject({
    approval: z.string().optional(),
    approved: z.boolean().optional(),
    clusterServiceVersionNames: z.array(z.string()).nullish(),
  }),
});
export type InstallPlan = z.output<typeof InstallPlan>;

/** What a view says: anything that is neither the object asked for nor its certain absence is unknown. */
export type Answer<T> =
  | { readonly kind: 'pending' }
  | { readonly kind: 'found'; readonly object: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Reads a view of one object; an answer about another one is none. */
export function readAnswer<T extends { readonly metadata: { readonly name: string; readonly namespace: string } }>(
  view: ManagedClusterView,
  schema: z.ZodType<T>,
  target: { readonly name: string; readonly namespace: string },
): Answer<T> {
  const condition = findCondition(view.status?.conditions ?? undefined, VIEW_PROCESSING);
  if (!condition) return { kind: 'pending' };
  if (condition.status === 'True' && condition.reason === ViewReason.getting) {
    const object = schema.safeParse(view.status?.result);
    if (!object.success) return { kind: 'unknown', message: `the answer cannot be used: ${z.prettifyError(object.error)}` };
    const { name, namespace } = object.data.metadata;
    if (name === target.name && namespace === target.namespace) return { kind: 'found', object: object.data };
    return { kind: 'unknown', message: `the answer is about ${namespace}/${name}` };
  }
  if (condition.reason === ViewReason.getFailed && condition.message.endsWith('not found')) return { kind: 'absent' };
  return { kind: 'unknown', message: condition.message };
}

const Viewed = z.union([Subscription, InstallPlan]);

/** Drops what no step reads: the status of an InstallPlan holds every manifest of the operator. */
export function trimRolloutView(view: ManagedClusterView): ManagedClusterView {
  const { managedFields: _, ...metadata } = view.metadata;
  const parsed = Viewed.safeParse(view.status?.result);
  // What cannot be used stays something that cannot be used.
  const result = parsed.success ? parsed.data : null;
  return { ...view, metadata, ...(view.status && { status: { conditions: view.status.conditions, result } }) };
}
