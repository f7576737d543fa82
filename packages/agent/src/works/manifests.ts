import { foreign, isJsonObject } from '@flotilla/api';
import { MAX_WORK_BYTES, type ManifestConfig, type ManifestStatus, type ManifestWork, WorkStatusBound } from '@flotilla/api/ocm';
import { groupVersion, noMatchesForKind, type ServedResource } from '@flotilla/runtime';
import { z } from 'zod';
import type { WorkAccess } from '../access.ts';
import { isAway, textOf, writeNamespace } from '../semantics.ts';
import { configOf, matchesResource, type ResourceMeta, refusalOfConfigs } from './manifest-config.ts';

export type { ResourceMeta } from './manifest-config.ts';

type Json = Record<string, unknown>;

/** An object on the spoke that a work manages. */
export interface WorkTarget {
  readonly served: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** A manifest as the agent reads it. */
export interface WorkManifest {
  readonly meta: ResourceMeta;
  /** Undefined when the spoke serves no such kind. */
  readonly target: WorkTarget | undefined;
  readonly object: Json;
  readonly config: ManifestConfig | undefined;
  /** Reason against applying it; undefined when it can be applied. */
  readonly refusal: string | undefined;
}

const Head = foreign(
  z.looseObject({
    apiVersion: z.string().min(1),
    kind: z.string().min(1),
    metadata: z.looseObject({ name: z.string().optional(), generateName: z.string().optional(), namespace: z.string().optional() }),
  }),
);

/** Reads every manifest of a work, in order; an invalid one does not affect the others. */
export async function readManifests(work: ManifestWork, access: WorkAccess): Promise<WorkManifest[]> {
  const manifests: WorkManifest[] = [];
  const seen = new Set<string>();
  for (const [ordinal, object] of (work.spec?.workload?.manifests ?? []).entries()) {
    const manifest = await readManifest(ordinal, object, access);
    const key = identityOf(manifest.meta);
    const isTwice = manifest.target !== undefined && seen.has(key);
    seen.add(key);
    const configs = work.spec?.manifestConfigs;
    const twice = isTwice ? `manifest ${ordinal} names ${key}, which an earlier manifest has: name it once` : undefined;
    const refusal = manifest.refusal ?? twice ?? refusalOfConfigs(configs, manifest.meta);
    manifests.push({ ...manifest, config: configOf(configs, manifest.meta), refusal });
  }
  return manifests;
}

/** Explains why no manifest of a work can be applied; undefined when nothing forbids it. */
export function refusalOfWork({ spec }: ManifestWork): string | undefined {
  const refusal = refusalOfDeletion(spec?.deleteOption);
  if (refusal !== undefined) return refusal;
  const manifests = spec?.workload?.manifests ?? [];
  if (isJsonObject(spec?.executor) && spec.executor.subject)
    return 'spec.executor.subject is not supported by this agent, which applies with its own rights: remove spec.executor';
  if (manifests.length > WorkStatusBound.manifests)
    return `spec.workload.manifests has ${manifests.length} entries, more than the ${WorkStatusBound.manifests} allowed: split the work`;
  const bytes = manifests.reduce((sum, manifest) => sum + new TextEncoder().encode(JSON.stringify(manifest)).length, 0);
  return bytes > MAX_WORK_BYTES
    ? `spec.workload.manifests take ${bytes} bytes, more than the ${MAX_WORK_BYTES} allowed: split the work`
    : undefined;
}

/** True when the work's deletion policy leaves this object on the spoke. */
export function isOrphaned({ spec }: ManifestWork, meta: ResourceMeta): boolean {
  const { propagationPolicy, selectivelyOrphans } = spec?.deleteOption ?? {};
  if (propagationPolicy === 'Orphan') return true;
  const rules = propagationPolicy === 'SelectivelyOrphan' ? selectivelyOrphans?.orphaningRules : undefined;
  return rules?.some((rule) => matchesResource(rule, meta)) ?? false;
}

const POLICIES: readonly string[] = ['Foreground', 'Orphan', 'SelectivelyOrphan'];

/** Refuses what would delete an object that its author meant to keep. */
function refusalOfDeletion(option: NonNullable<ManifestWork['spec']>['deleteOption']): string | undefined {
  const { propagationPolicy, selectivelyOrphans } = option ?? {};
  if (propagationPolicy && !POLICIES.includes(propagationPolicy))
    return `spec.deleteOption.propagationPolicy ${JSON.stringify(propagationPolicy)} is unknown: use ${POLICIES.join(', ')}`;
  const wild =
    selectivelyOrphans?.orphaningRules?.findIndex((rule) => Object.values(rule).some((text) => String(text).includes('*'))) ?? -1;
  return wild < 0
    ? undefined
    : `spec.deleteOption.selectivelyOrphans.orphaningRules[${wild}] has "*", and such a rule names one object: write its name and namespace out`;
}

/** Objects of a work whose changes are reported at once (`feedbackScrapeType: Watch`). */
export const watchedResources = ({ spec }: ManifestWork): ManifestConfig['resourceIdentifier'][] =>
  (spec?.manifestConfigs ?? [])
    .filter(({ feedbackScrapeType }) => feedbackScrapeType === 'Watch')
    .map(({ resourceIdentifier }) => resourceIdentifier);

async function readManifest(ordinal: number, object: Json, access: WorkAccess): Promise<WorkManifest> {
  const head = Head.safeParse(object);
  const bare = { ordinal, group: '', version: '', kind: '', resource: '', name: '', namespace: '' };
  const refused = (meta: ResourceMeta, refusal: string): WorkManifest => ({ meta, target: undefined, object, config: undefined, refusal });
  if (!head.success) {
    const [issue] = head.error.issues;
    return refused(bare, `manifest ${ordinal}: ${issue?.path.join('.') || 'it'} is missing or wrong: ${issue?.message}`);
  }
  const { apiVersion, kind, metadata } = head.data;
  const long = longest({ apiVersion, kind, name: metadata.name ?? '', namespace: metadata.namespace ?? '' });
  if (long) return refused(bare, `manifest ${ordinal}: ${long}`);
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  const meta = { ...bare, group, version, kind, name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
  if (!metadata.name || metadata.generateName)
    return refused(meta, `manifest ${ordinal}: metadata.name is required and metadata.generateName forbidden: give the object a name`);
  try {
    const served = await access.findKind(apiVersion, kind);
    if (!served) return refused(meta, noMatchesForKind(kind, apiVersion));
    const whole = { ...meta, resource: served.plural };
    // one that a kind without namespaces does not have is left out, as a server leaves it out of an update
    const namespace = served.namespaced ? writeNamespace(served, metadata.namespace, undefined) : undefined;
    return {
      meta: { ...whole, namespace: namespace ?? '' },
      target: { served, namespace, name: metadata.name },
      object,
      config: undefined,
      refusal: undefined,
    };
  } catch (error) {
    if (isAway(error)) throw error;
    return refused(meta, textOf(error));
  }
}

/** Says which text no server takes, because the status could not hold it either. */
function longest(texts: { apiVersion: string; kind: string; name: string; namespace: string }): string | undefined {
  const { name, word } = WorkStatusBound;
  const most = { apiVersion: name, kind: word, name, namespace: word };
  const field = (['apiVersion', 'kind', 'name', 'namespace'] as const).find((key) => texts[key].length > most[key]);
  return field && `its ${field} has ${texts[field].length} characters, and no server takes more than ${most[field]}: shorten it`;
}

/**
 * Finds an object of a status or a record, under the version that the spoke serves now: one that is served no more stands for the same objects.
 * Undefined when the spoke does not serve the kind at all, so that there is none.
 */
export async function targetOf(meta: ResourceMeta, access: WorkAccess): Promise<WorkTarget | undefined> {
  const { name, namespace } = meta;
  const served = name ? await servedKind(meta, access) : undefined;
  // The apply refused a namespace that does not fit the scope, so there is no object.
  return name && served?.namespaced === Boolean(namespace) ? { served, namespace: namespace || undefined, name } : undefined;
}

async function servedKind({ group = '', version, kind, resource }: ResourceMeta, access: WorkAccess) {
  const asBefore = kind && version ? await access.findKind(groupVersion(group, version), kind) : undefined;
  if (asBefore) return asBefore;
  const word = resource || kind;
  if (!word) return undefined;
  const now = await access.findResource(group === '' ? word : `${word}.${group}`);
  return now?.group === group ? now : undefined;
}

/** Finds the last status of a manifest. Its ordinal alone would give it another object's conditions. */
export const previousOf = (work: ManifestWork, meta: ResourceMeta): ManifestStatus | undefined =>
  work.status?.resourceStatus?.manifests?.find(
    ({ resourceMeta }) => resourceMeta.ordinal === meta.ordinal && identityOf(resourceMeta) === identityOf(meta),
  );

/** Identifies an object across versions. It uses the kind, because the plural is unknown until the spoke serves it. */
export const identityOf = ({ group = '', kind, resource = '', namespace = '', name = '' }: ResourceMeta): string =>
  [group === '' ? kind || resource : `${kind || resource}.${group}`, namespace, name].join('/');
