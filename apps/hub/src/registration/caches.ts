import { isJsonObject, type KubeObject, Label, managedFieldsOf, type ObjectMeta, type Resource } from '@flotilla/api';
import { Lease, Namespace } from '@flotilla/api/core';
import { AGENT_LEASE } from '@flotilla/api/ocm';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { BY_CLUSTER } from '../indexes.ts';
import { clusterAccess, clusterNamespace, isAsWanted, REGISTRATION } from './access.ts';

/** Caches about spokes besides their ManagedClusters. */
export interface RegistrationCaches {
  readonly namespaces: WatchCache<KubeObject>;
  /** Access objects by the plural of their kind, trimmed to their correctness. */
  readonly access: ReadonlyMap<string, WatchCache<KubeObject, typeof BY_CLUSTER>>;
  /** Leases of agents, trimmed to the renewal time. */
  readonly leases: WatchCache<Lease>;
}

/**
 * Watches each kind over all clusters. At 3,500 clusters leases are renewed 58 times a second; a renewal calls no listener and only replaces a small
 * object in a map.
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

/** Name of the cluster that an access object is for. */
export const clusterOf = ({ metadata }: KubeObject): string => metadata.labels?.[Label.clusterName] ?? '';

/** Field of a trimmed object that equals the wanted one. */
const AS_WANTED = 'asWanted';

/** True when the cached object exists and equals the wanted one. */
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

/** Keeps only the time of the last renewal, by the clock of the hub's server: the agent's clock may be minutes off. */
export function trimLease({ metadata, spec }: Lease): Lease {
  const { name, namespace, uid, resourceVersion } = metadata;
  const renewTime = spec?.renewTime ? (takenAt(metadata) ?? spec.renewTime) : undefined;
  return { metadata: { name, namespace, uid, resourceVersion }, spec: { renewTime } };
}

/** Servers cut times to the second. */
const SECOND_MS = 1000;

/** Latest possible time of the write of `spec.renewTime`, RFC 3339. */
function takenAt(metadata: ObjectMeta): string | undefined {
  const wroteTime = (spec: unknown): boolean => isJsonObject(spec) && spec['f:renewTime'] !== undefined;
  const times = managedFieldsOf(metadata)
    .filter(({ fieldsV1 }) => wroteTime(fieldsV1?.['f:spec']))
    .map(({ time }) => Date.parse(time ?? ''))
    .filter((time) => !Number.isNaN(time));
  return times.length > 0 ? new Date(Math.max(...times) + SECOND_MS).toISOString() : undefined;
}
