/** The facts about a spoke's nodes, from its ManagedCluster alone, and the parts that every pod of the puller has for them. Pure. */
import { posix } from 'node:path';
import { Annotation, perObject } from '@flotilla/api';
import {
  ClusterClaim,
  claimedNodes,
  claimedTransports,
  claimOf,
  type ManagedCluster,
  NODE_PULLERS,
  PULLER_ACCOUNT,
} from '@flotilla/api/ocm';
import { describeUnknown } from '../upgrade/annotations.ts';
import {
  CLUSTER_VALUES,
  clusterValues,
  NODE_PATHS,
  type NodePathType,
  type PullerVariable,
  type PullerVariables,
  pathProblem,
  RUN_DIRECTORY,
  RUNTIME_SOCKETS,
  SOCKET_PATH,
} from './puller-settings.ts';

/** A path of the node, mounted read-only below `/host` in the puller's pod. */
interface NodeMount {
  /** Name of its volume. */
  readonly name: string;
  readonly path: string;
  readonly type: NodePathType;
}

/** Node-dependent part of a pre-cache on one spoke. */
export interface SpokeNode {
  /** The spoke serves SecurityContextConstraints: without the right to one, no pod with a host path is admitted. */
  readonly hasSccs: boolean;
  /** The spoke's agent makes the puller's account. */
  readonly hasAccount: boolean;
  /** The spoke's agent is not ours, and may grant what the hub wants. */
  readonly hasStockAgent: boolean;
  /** More nodes than one: not by the agent's own count, unlikely by the topology of the control plane alone, which knows no workers, or maybe. */
  readonly moreNodes: 'no' | 'unlikely' | 'maybe';
  readonly mounts: readonly NodeMount[];
  /** Variables of the puller, by name. */
  readonly variables: PullerVariables;
  /** Messages about malformed annotations: nothing is put on the spoke until they are fixed. */
  readonly problems: readonly string[];
  /** Message about an unknown annotation under our prefix: a typo must not pass unnoticed. */
  readonly unknown: string | undefined;
}

/** Path of a node's file in the puller's pod. */
const inPod = (path: string): string => `/host${path}`;

/** OpenShift products, by claim `product.open-cluster-management.io` or label `vendor`. */
const OPENSHIFT = new Set(['OpenShift', 'OpenShiftDedicated', 'OSD', 'ROSA', 'ARO']);
const MORE_WITH_SCCS = new Set(['ROKS', 'MicroShift']);

/** Product that the spoke claims. A false claim only changes the objects on that spoke. */
function productOf(cluster: ManagedCluster | undefined): string {
  const named = claimOf(cluster, ClusterClaim.product) ?? cluster?.metadata.labels?.vendor ?? '';
  if (OPENSHIFT.has(named) || MORE_WITH_SCCS.has(named)) return named;
  if (claimOf(cluster, ClusterClaim.openshiftVersion)) return 'OpenShift';
  return claimOf(cluster, ClusterClaim.microshiftVersion) ? 'MicroShift' : named;
}

/** Every reconcile of a spoke asks. */
const nodeOf = perObject((cluster: ManagedCluster): SpokeNode => derive(cluster));

/** Annotations of the ManagedCluster override the defaults of its product. Only `/run` is assumed of an unknown node. */
export const spokeNode = (cluster: ManagedCluster | undefined): SpokeNode => (cluster ? nodeOf(cluster) : derive(undefined));

function derive(cluster: ManagedCluster | undefined): SpokeNode {
  const annotations = cluster?.metadata.annotations ?? {};
  const product = productOf(cluster);
  const found: Draft = { mounts: new Map(), ...clusterValues(annotations) };
  addSocket(found, annotations);
  for (const { annotation, places, type, variable, openshift } of NODE_PATHS) {
    const path = usable(found, annotation, annotations[annotation], places) ?? (OPENSHIFT.has(product) ? openshift : undefined);
    if (!path) continue;
    mount(found, { name: volumeName(annotation), path, type });
    found.variables[variable] = inPod(path);
  }
  addCertificates(found);
  const unknown = cluster && describeUnknown(cluster.metadata, KNOWN, ' on the ManagedCluster');
  const hasSccs = OPENSHIFT.has(product) || MORE_WITH_SCCS.has(product);
  const transports = claimedTransports(cluster);
  return {
    hasSccs,
    hasAccount: transports.includes(PULLER_ACCOUNT),
    hasStockAgent: transports.length === 0,
    moreNodes: judgeNodes(cluster),
    mounts: [...found.mounts.values()],
    variables: found.variables,
    problems: found.problems,
    unknown,
  };
}

/** Our own agent counts its nodes. A stock agent reports only the topology of an OpenShift control plane. */
function judgeNodes(cluster: ManagedCluster | undefined): SpokeNode['moreNodes'] {
  if (!cluster) return 'no';
  const count = claimedNodes(cluster).reduce((sum, nodes) => sum + nodes.count, 0);
  const transports = claimedTransports(cluster);
  if (transports.length > 0 && !transports.includes(NODE_PULLERS)) return 'no';
  if (count > 0) return count > 1 ? 'maybe' : 'no';
  return claimOf(cluster, ClusterClaim.controlPlaneTopology) === 'SingleReplica' ? 'unlikely' : 'maybe';
}

/** All annotations that the hub reads from a ManagedCluster. */
const KNOWN = [Annotation.hold, ...[SOCKET_PATH, ...NODE_PATHS, ...CLUSTER_VALUES].map(({ annotation }) => annotation)];

interface Draft {
  readonly mounts: Map<string, NodeMount>;
  readonly variables: Partial<Record<PullerVariable, string>>;
  readonly problems: string[];
}

/** `flotilla.io/runtime-socket` → `runtime-socket` */
const volumeName = (annotation: string): string => annotation.slice(annotation.indexOf('/') + 1);

const mount = ({ mounts }: Draft, each: NodeMount): void => void mounts.set(each.path, each);

function addSocket(found: Draft, annotations: Readonly<Record<string, string>>): void {
  const { annotation, places } = SOCKET_PATH;
  const below = places.map((place) => `${place}/`);
  const given = annotations[annotation]?.replace(/^unix:\/\//, '');
  const named = usable(found, annotation, given, places);
  const socket = named && below.some((place) => named.startsWith(place)) ? named : undefined;
  mount(found, { name: volumeName(annotation), path: socket ? posix.dirname(socket) : RUN_DIRECTORY, type: 'Directory' });
  found.variables.CRI_SOCKET = (socket ? [socket] : RUNTIME_SOCKETS).map(inPod).join(',');
}

/** The puller reads no default folder of certificates once one is named, so the one beside registries.conf is named too. */
function addCertificates({ variables }: Draft): void {
  const { REGISTRIES_CONF_DIR: registries, REGISTRY_CERTS_DIRS: certificates } = variables;
  if (registries && certificates) variables.REGISTRY_CERTS_DIRS = `${registries}/certs.d:${certificates}`;
}

/** Returns an annotation's value when it is allowed; an empty value means "none". */
function usable(found: Draft, annotation: string, value: string | undefined, places: readonly string[]): string | undefined {
  if (value === undefined || value === '') return value;
  const problem = pathProblem(annotation, value, places);
  if (problem === undefined) return value;
  found.problems.push(problem);
  return undefined;
}

/** Requires this SecurityContextConstraint: admission could choose another one that is open to the account. */
export const SCC_ANNOTATION = { 'openshift.io/required-scc': 'privileged' };

/** It runs as root for the runtime's socket, without any other privilege. */
export const PULLER_SECURITY = {
  runAsUser: 0,
  privileged: false,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
  // SELinux forbids a confined container the runtime's socket; the type has no effect elsewhere.
  seLinuxOptions: { type: 'spc_t' },
};

/** A socket accepts connections through a read-only mount. Mounts below a folder are read-only too where the kernel supports it. */
export const mountOf = ({ name, path, type }: NodeMount): Record<string, unknown> => ({
  name,
  mountPath: inPod(path),
  readOnly: true,
  ...(type !== 'File' && { recursiveReadOnly: 'IfPossible' }),
});
