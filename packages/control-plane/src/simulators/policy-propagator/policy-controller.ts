import { refKey, refOfKey } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { isAlreadyExists, isConflict, isNotFound, type ReconcileResult } from '@flotilla/runtime';
import { z } from 'zod';
import type { HubWriter } from '../hub-writer.ts';
import { clustersOf } from './placement-controller.ts';
import { type Action, type ChildTemplate, childTemplate, fingerprint, isEnforce, placePolicy } from './policy-replication.ts';
import { BY_PLACEMENT, BY_POLICY, type PropagatorCaches, placementOfBinding } from './propagator-caches.ts';
import type { Demand, SimulatedCompliance } from './simulated-compliance.ts';

/** Dependencies of replicating policies. */
export interface PolicyDeps {
  readonly caches: PropagatorCaches;
  readonly writer: HubWriter;
  readonly compliance: SimulatedCompliance;
  /** Clusters each root is on, as of its last pass; kept by `reconcilePolicy`. */
  readonly placed: Map<string, ReadonlyMap<string, Action>>;
}

const Dependency = z.looseObject({ kind: z.literal(Policy.kind), name: z.string(), namespace: z.string().optional() });
/** A write met another: the cache will show which soon. */
const LOOK_AGAIN_MS = 500;

/** Makes the copies of one root policy (key `namespace/name`) true, and tells the simulated clusters what is asked of them. */
export async function reconcilePolicy(key: string, deps: PolicyDeps): Promise<ReconcileResult> {
  const { caches, compliance, placed } = deps;
  const root = caches.roots.get(refOfKey(key));
  const wanted = root ? placementOf(root, caches) : new Map<string, Action>();
  const before = new Set([...(placed.get(key)?.keys() ?? []), ...childrenOf(key, caches).keys()]);
  if (wanted.size > 0) placed.set(key, wanted);
  else placed.delete(key);

  const removed = [...before].filter((cluster) => !wanted.has(cluster));
  const done = await Promise.all([
    ...removed.map(async (cluster) => {
      compliance.remove(key, cluster);
      return removeChild(key, cluster, deps);
    }),
    ...(root ? replicate(root, wanted, deps) : []),
  ]);
  return done.every(Boolean) ? {} : { requeueAfterMs: LOOK_AGAIN_MS };
}

/** A policy in a cluster's namespace is none to place (spec/ocm 3.2). */
function placementOf(root: Policy, caches: PropagatorCaches): Map<string, Action> {
  const { metadata, spec } = root;
  if (metadata.deletionTimestamp || spec?.disabled || caches.clusters.get({ name: metadata.namespace ?? '' })) return new Map();
  return placePolicy(caches.bindings.byIndex(BY_POLICY, refKey(metadata)), (binding) =>
    placementOfBinding(binding).flatMap((key) => caches.decisions.byIndex(BY_PLACEMENT, key).flatMap(clustersOf)),
  );
}

const childrenOf = (key: string, { children }: PropagatorCaches): Map<string, Policy> =>
  new Map(children.byIndex(BY_POLICY, key).map((child) => [child.metadata.namespace ?? '', child]));

function replicate(root: Policy, wanted: ReadonlyMap<string, Action>, deps: PolicyDeps): Promise<boolean>[] {
  const { caches, compliance } = deps;
  const key = refKey(root.metadata);
  const templates = { own: childTemplate(root, 'own'), enforce: childTemplate(root, 'enforce') };
  const current = childrenOf(key, caches);
  const asked = { templates: fingerprint(root.spec?.['policy-templates']), dependencies: dependenciesOf(root) };
  return [...wanted].map(async ([cluster, action]) => {
    const child = current.get(cluster);
    const written = await ensureChild(cluster, child, templates[action], deps);
    const demand: Demand = { ...asked, action: isEnforce(root.spec?.remediationAction) ? 'enforce' : action };
    if (written) compliance.place(key, cluster, demand);
    return written;
  });
}

/** Keys of the policies this one depends on; other kinds always count as met. */
function dependenciesOf({ metadata, spec }: Policy): string[] {
  return (spec?.dependencies ?? []).flatMap((each) => {
    const { data } = Dependency.safeParse(each);
    return data ? [refKey({ namespace: data.namespace || metadata.namespace, name: data.name })] : [];
  });
}

/** False when somebody else was faster, or the cluster's namespace is not there. */
function ensureChild(cluster: string, child: Policy | undefined, template: ChildTemplate, { writer }: PolicyDeps): Promise<boolean> {
  if (child?.spec?.fingerprint === template.fingerprint) return Promise.resolve(true);
  const wanted = template.build(cluster);
  const { resourceVersion } = child?.metadata ?? {};
  const write = child
    ? writer.replace(Policy, { ...wanted, metadata: { ...wanted.metadata, resourceVersion } })
    : writer.create(Policy, wanted);
  return write.then(() => true, lostRace);
}

function removeChild(key: string, cluster: string, { writer, caches }: PolicyDeps): Promise<boolean> {
  const ref = { namespace: cluster, name: key.replace('/', '.') };
  if (!caches.children.get(ref)) return Promise.resolve(true);
  return writer.delete(Policy, ref).then(() => true, lostRace);
}

function lostRace(error: unknown): false {
  if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return false;
  throw error;
}
