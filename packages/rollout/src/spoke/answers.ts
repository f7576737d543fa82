/** Schemas of the objects that a rollout's views show, as far as they are read (spec/ocm 1.10). Pure. */
import { foreign } from '@flotilla/api';
import type { ManagedClusterView } from '@flotilla/api/ocm';
import { z } from 'zod';

const GROUP = 'operators.coreos.com/';
/** A view is named after what a spoke says; the hub takes it only when it can be a name. */
const Name = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
/** Text before the group is no part of the version, so it is dropped. */
const ApiVersion = z
  .string()
  .refine((text) => text.includes(GROUP), { error: `expected ${GROUP}<version>` })
  .transform((text) => text.slice(text.indexOf(GROUP)));
/** Also as a text. */
const Truth = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
const Texts = z.record(z.string(), z.string()).nullish();

/** A Subscription as far as an approval needs it. Either field names the InstallPlan. */
export const Subscription = z.object({
  apiVersion: ApiVersion,
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

/** An InstallPlan without its status. An update removes every field that it does not name, so all that a user may have set is kept (spec/ocm 1.4). */
export const InstallPlan = z.object({
  apiVersion: ApiVersion,
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
    approved: Truth.optional(),
    clusterServiceVersionNames: z.array(z.string()).nullish(),
  }),
});
export type InstallPlan = z.output<typeof InstallPlan>;

const Viewed = foreign(z.union([Subscription, InstallPlan]));

/** Drops what no step reads: the status of an InstallPlan holds every manifest of the operator. */
export function trimRolloutView(view: ManagedClusterView): ManagedClusterView {
  const parsed = Viewed.safeParse(view.status?.result);
  // A null result keeps an unusable answer unusable.
  const result = parsed.success ? parsed.data : null;
  return { ...view, ...(view.status && { status: { conditions: view.status.conditions, result } }) };
}
