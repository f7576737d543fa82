import { isJsonObject } from '@flotilla/api';
import { MAX_WORK_BYTES, type ManifestConfig, type ManifestStatus, type ManifestWork } from '@flotilla/api/ocm';
import { groupVersion, noMatchesForKind, type ServedResource } from '@flotilla/runtime';
import { z } from 'zod';
import type { WorkAccess } from '../access.ts';
import { textOf, writeNamespace } from '../semantics.ts';

type Json = Record<string, unknown>;

/** An object on the spoke that a work manages. */
export interface WorkTarget {
  readonly served: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** `status.resourceStatus.manifests[].resourceMeta`. */
export type ResourceMeta = ManifestStatus['resourceMeta'];

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

const Head = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.looseObject({ name: z.string().optional(), generateName: z.string().optional(), namespace: z.string().optional() }),
});

/** Reads every manifest of a work, in order; an invalid one does not affect the others. */
export async function readManifests(work: ManifestWork, access: WorkAccess): Promise<WorkManifest[]> {
  const manifests: WorkManifest[] = [];
  const seen = new Set<string>();
  for (const [ordinal, object] of (work.spec?.workload?.manifests ?? []).entries()) {
    const manifest = await readManifest(ordinal, object, access);
    const key = identityOf(manifest.meta);
    const isTwice = manifest.target !== undefined && seen.has(key);
    seen.add(key);
    const config = work.spec?.manifestConfigs?.find(({ resourceIdentifier }) => isSameResource(resourceIdentifier, manifest.meta));
    manifests.push({
      ...manifest,
      config,
      ...(isTwice && { refusal: `manifest ${ordinal} names ${key}, which an earlier manifest has: name it once` }),
    });
  }
  return manifests;
}

/** Explains why no manifest of a work can be applied; undefined when nothing forbids it. */
export function refusalOfWork({ spec }: ManifestWork): string | undefined {
  const manifests = spec?.workload?.manifests ?? [];
  if (isJsonObject(spec?.executor) && spec.executor.subject)
    return 'spec.executor.subject is not supported by this agent, which applies with its own rights: remove spec.executor';
  const bytes = manifests.reduce((sum, manifest) => sum + new TextEncoder().encode(JSON.stringify(manifest)).length, 0);
  return bytes > MAX_WORK_BYTES
    ? `spec.workload.manifests take ${bytes} bytes, more than the ${MAX_WORK_BYTES} allowed: split the work`
    : undefined;
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
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/', 2) : ['', apiVersion];
  const meta = { ...bare, group, version, kind, name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
  if (!metadata.name || metadata.generateName)
    return refused(meta, `manifest ${ordinal}: metadata.name is required and metadata.generateName forbidden: give the object a name`);
  try {
    const served = await access.findKind(apiVersion, kind);
    if (!served) return refused(meta, noMatchesForKind(kind, apiVersion));
    const whole = { ...meta, resource: served.plural };
    const namespace = writeNamespace(served, metadata.namespace, undefined);
    return { meta: whole, target: { served, namespace, name: metadata.name }, object, config: undefined, refusal: undefined };
  } catch (error) {
    return refused(meta, textOf(error));
  }
}

/** Finds the object of a status entry, as the spoke serves it now; undefined when it does not. */
export async function targetOf(
  { group, version, kind, name, namespace }: ResourceMeta,
  access: WorkAccess,
): Promise<WorkTarget | undefined> {
  if (!kind || !name || !version) return undefined;
  const served = await access.findKind(groupVersion(group ?? '', version), kind);
  // The apply refused a namespace that does not fit the scope, so there is no object.
  return served?.namespaced === Boolean(namespace) ? { served, namespace: namespace || undefined, name } : undefined;
}

/** Identifies an object across versions. It uses the kind, because the plural is unknown until the spoke serves it. */
export const identityOf = ({ group = '', kind = '', namespace = '', name = '' }: ResourceMeta): string =>
  [group === '' ? kind : `${kind}.${group}`, namespace, name].join('/');

/** True when an identifier of a work's options matches this manifest. */
export const isSameResource = (
  identifier: { group?: string | undefined; resource: string; name: string; namespace?: string | undefined },
  meta: ResourceMeta,
): boolean =>
  (identifier.group ?? '') === meta.group &&
  identifier.resource === meta.resource &&
  identifier.name === meta.name &&
  (identifier.namespace ?? '') === (meta.namespace ?? '');
