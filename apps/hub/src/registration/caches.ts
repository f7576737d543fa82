import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { Lease, Namespace } from '@flotilla/api/core';
import { AGENT_LEASE } from '@flotilla/api/ocm';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { z } from 'zod';
import { BY_CLUSTER } from '../indexes.ts';
import { clusterAccess, clusterNamespace, isAsWanted, REGISTRATION } from './apply.ts';

/** What is known of spokes besides their ManagedClusters. */
export interface RegistrationCaches {
  readonly namespaces: WatchCache<KubeObject>;
  /** What lets agents in, by the plural of its kind; everything else about the objects is dropped. */
  readonly access: ReadonlyMap<string, WatchCache<KubeObject, typeof BY_CLUSTER>>;
  /** All that agents renew, and nothing of them but the time. */
  readonly leases: WatchCache<Lease>;
}

/**
 * One watch per kind over all clusters. Leases are renewed 58 times a second at 3,500 clusters: nobody is called for a renewal,
 * it replaces one small object in a map.
 */
export function createRegistrationCaches(client: Client, shared: WatchSurroundings): RegistrationCaches {
  const labelSelector = `${Label.work}=${REGISTRATION}`;
  const indexes = { [BY_CLUSTER]: (object: KubeObject) => [clusterOf(object)] };
  const access = clusterAccess('any').map(({ kind }): [string, WatchCache<KubeObject, typeof BY_CLUSTER>] => [
    kind.plural,
    new WatchCache(client, kind, { ...shared, labelSelector, indexes, transform: (object) => trimAccess(kind, object) }),
  ]);
  return {
    namespaces: new WatchCache(client, Namespace, { ...shared, labelSelector: Label.clusterName, transform: trimNamespace }),
    access: new Map(access),
    leases: new WatchCache(client, Lease, { ...shared, fieldSelector: `metadata.name=${AGENT_LEASE}`, transform: trimLease }),
  };
}

/** The cluster that an access object is for. */
export const clusterOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.clusterName] ?? '';

/** Field of a trimmed object: it is what it has to be. */
const AS_WANTED = 'asWanted';

/** The cached object is there and as it has to be. */
export const isInOrder = (cached: KubeObject | undefined): boolean => cached?.[AS_WANTED] === true;

function trimAccess(kind: Resource, object: KubeObject): KubeObject {
  const wanted = clusterAccess(clusterOf(object)).find(({ kind: { plural } }) => plural === kind.plural);
  return trimmed(object, wanted !== undefined && isAsWanted(object, wanted.object));
}

const trimNamespace = (object: KubeObject): KubeObject =>
  trimmed(object, isAsWanted(object, clusterNamespace(object.metadata.name).object));

function trimmed({ metadata }: KubeObject, isRight: boolean): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels } = metadata;
  const label = labels?.[Label.clusterName];
  return {
    metadata: { name, namespace, uid, resourceVersion, labels: label === undefined ? {} : { [Label.clusterName]: label } },
    [AS_WANTED]: isRight && deletionTimestamp === undefined,
  };
}

/** Nothing but the time of the last renewal: the one at which the hub's server took it. The agent's clock may be minutes off. */
export function trimLease({ metadata, spec }: Lease): Lease {
  const { name, namespace, uid, resourceVersion } = metadata;
  const renewTime = spec?.renewTime ? (takenAt(metadata.managedFields) ?? spec.renewTime) : undefined;
  return { metadata: { name, namespace, uid, resourceVersion }, spec: { renewTime } };
}

const ManagedFields = z
  .array(z.looseObject({ time: z.string().optional(), fieldsV1: z.looseObject({ 'f:spec': z.looseObject({}).optional() }).optional() }))
  .catch([]);
/** Times of the server are cut to the second. */
const SECOND_MS = 1000;

/** The last moment at which the write of `spec.renewTime` can have been, RFC 3339. */
function takenAt(managedFields: unknown): string | undefined {
  const times = ManagedFields.parse(managedFields ?? [])
    .filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:renewTime'] !== undefined)
    .map(({ time }) => Date.parse(time ?? ''))
    .filter((time) => !Number.isNaN(time));
  return times.length > 0 ? new Date(Math.max(...times) + SECOND_MS).toISOString() : undefined;
}
