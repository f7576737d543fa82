/** An agent's account in bad hands: what it may write, written as badly as a seed says. */
import { AGENT_LEASE, WORK_FINALIZER } from '@flotilla/api/ocm';

/** One write with the credentials of an agent. */
export interface HostileWrite {
  /** For messages: what is written where. */
  readonly what: string;
  readonly method: 'PATCH' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** In everything it writes. */
export const MARK = 'hostile-mark';

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const CHARACTERS = ['x', '<', '\u0001', '"', '\\', '\u2028', '😀', 'é'];
/** Up to what etcd takes, and beyond. */
const SIZES = [8, 200, 1_000, 3_000, 10_000, 30_000, 120_000, 250_000, 500_000, 1_000_000, 1_400_000, 1_570_000, 2_900_000];

/** The next write of a seeded run. @param random in [0, 1) */
export function nextWrite(cluster: string, random: () => number, victimLabels: Readonly<Record<string, string>>): HostileWrite {
  const pick = <T>(all: readonly [T, ...T[]]): T => all[Math.floor(random() * all.length)] ?? all[0];
  const size = pick(SIZES as [number, ...number[]]);
  const character = pick(CHARACTERS as [string, ...string[]]);
  const text = (length: number) => `${MARK}${character.repeat(Math.max(1, Math.floor(length / character.length)))}`;
  const many = <T>(count: number, one: (index: number) => T): T[] => Array.from({ length: Math.max(1, count) }, (_, index) => one(index));
  const time = pick(['2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z']);
  const condition = (type: string, message: string) => ({ type, status: 'True', reason: 'Hostile', message, lastTransitionTime: time });
  const conditions = () => {
    const length = pick([0, 100, 2_000, 30_000]);
    const types = ['HubAcceptedManagedCluster', 'ManagedClusterJoined', 'ManagedClusterConditionAvailable', 'Applied', 'Available'];
    return many(Math.min(10_000, Math.floor(size / (length + 150))), (index) => condition(types[index] ?? `T${index}`, text(length)));
  };
  const clusterStatus = () =>
    pick<() => Record<string, unknown>>([
      () => ({ conditions: conditions() }),
      () => ({ clusterClaims: many(Math.floor(size / 7_000), (index) => ({ name: `c${index}`, value: text(Math.min(size, 7_000)) })) }),
      () => ({ capacity: Object.fromEntries(many(Math.floor(size / 40), (index) => [`${MARK}${index}`, text(10)])) }),
      () => ({ version: { kubernetes: text(size) } }),
      () => ({ managedNamespaces: [{ name: MARK, any: text(size) }] }),
    ])();
  const manifests = () =>
    many(Math.floor(size / 20_000), (ordinal) => ({
      resourceMeta: { ordinal, kind: 'Job', name: text(10) },
      conditions: [condition('Applied', text(Math.min(size, 20_000)))],
      statusFeedback: { values: [{ name: MARK, fieldValue: { type: 'String', string: text(100) } }] },
    }));
  const metadata = () =>
    pick<() => Record<string, unknown>>([
      () => ({ labels: { ...victimLabels, [MARK]: MARK } }),
      () => ({ labels: Object.fromEntries(many(Math.floor(size / 120), (index) => [`${MARK}-${index}`, 'x'.repeat(60)])) }),
      () => ({ annotations: { [MARK]: text(Math.min(size, 250_000)) } }),
      () => ({ finalizers: [WORK_FINALIZER] }),
      () => ({ finalizers: [WORK_FINALIZER, `example.com/${MARK}`] }),
      () => ({ finalizers: many(Math.floor(size / 60), (index) => `example.com/${MARK}-${index}`) }),
      () => ({ finalizers: null }),
      () => ({ ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: MARK, uid: MARK, blockOwnerDeletion: true }] }),
      () => ({ managedFields: [{}] }),
      () => ({
        managedFields: many(Math.floor(size / 200), (index) => ({
          manager: `${MARK}-${index}`,
          operation: 'Apply',
          apiVersion: 'work.open-cluster-management.io/v1',
          time,
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:spec': { 'f:renewTime': {} } },
        })),
      }),
    ])();
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: MARK, namespace: 'default' }, data: { text: text(size) } };
  const inNamespace = (group: string, plural: string, name: string) => `/apis/${group}/namespaces/${cluster}/${plural}/${name}`;
  const work = inNamespace('work.open-cluster-management.io/v1', 'manifestworks', pick(['bait', 'bait', 'precache-work']));
  const lease = inNamespace('coordination.k8s.io/v1', 'leases', AGENT_LEASE);
  const own = `/apis/cluster.open-cluster-management.io/v1/managedclusters/${cluster}`;
  const merge = (what: string, path: string, body: unknown): HostileWrite => ({ what, method: 'PATCH', path, body, contentType: MERGE });
  const answer = (group: string, plural: string, kind: string): HostileWrite => ({
    what: `status of ${plural}`,
    method: 'PUT',
    path: `${inNamespace(group, plural, 'bait')}/status`,
    body: {
      apiVersion: group,
      kind,
      metadata: { name: 'bait', namespace: cluster, ...metadata() },
      status: { conditions: conditions().slice(0, 60), result: object },
    },
  });
  const applied = () => {
    const body = {
      apiVersion: 'cluster.open-cluster-management.io/v1',
      kind: 'ManagedCluster',
      metadata: { name: cluster },
      status: clusterStatus(),
    };
    const query = `?force=true&fieldManager=${MARK}${Math.floor(random() * 1e6)}`;
    return { what: 'status of its cluster, applied', method: 'PATCH', path: `${own}/status${query}`, body, contentType: APPLY } as const;
  };
  return pick<() => HostileWrite>([
    () => merge('status of its cluster', `${own}/status`, { metadata: metadata(), status: clusterStatus() }),
    () => merge('status of its cluster', `${own}/status`, { status: clusterStatus() }),
    applied,
    () => merge('its cluster', own, { metadata: metadata(), spec: { hubAcceptsClient: true } }),
    () => merge('metadata of a work', work, { metadata: metadata() }),
    () => merge('metadata of a work', work, { metadata: metadata() }),
    () => merge('spec of a work', work, { spec: { workload: { manifests: [object] } } }),
    () =>
      merge('a whole work', work, {
        metadata: metadata(),
        spec: { workload: { manifests: [object] } },
        status: { conditions: conditions() },
      }),
    () => merge('status of a work', `${work}/status`, { status: { conditions: conditions() } }),
    () => merge('status of a work', `${work}/status`, { status: { resourceStatus: { manifests: manifests() } } }),
    () => answer('action.open-cluster-management.io/v1beta1', 'managedclusteractions', 'ManagedClusterAction'),
    () => answer('view.open-cluster-management.io/v1beta1', 'managedclusterviews', 'ManagedClusterView'),
    () => merge('metadata of its lease', lease, { metadata: metadata() }),
    () => merge('its lease', lease, { spec: { renewTime: '9999-12-31T23:59:59.000000Z', holderIdentity: text(size) } }),
    () => ({ what: 'a work of its own', method: 'POST', path: work.replace(/\/[^/]+$/, ''), body: { metadata: { name: MARK }, spec: {} } }),
    () => ({ what: 'the end of a work', method: 'DELETE', path: work }),
    () => ({
      what: 'a token',
      method: 'POST',
      path: `/api/v1/namespaces/${cluster}/serviceaccounts/spoke-agent/token`,
      body: { spec: { expirationSeconds: 600 } },
    }),
  ])();
}
