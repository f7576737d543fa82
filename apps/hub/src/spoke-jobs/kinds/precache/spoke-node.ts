/** What the hub knows of a spoke's nodes, from its ManagedCluster alone. Pure. */
import { posix } from 'node:path';
import { Annotation } from '@flotilla/api';
import { ClusterClaim, claimedTransports, claimOf, type ManagedCluster, PULLER_ACCOUNT } from '@flotilla/api/ocm';
import { describeUnknown } from '@flotilla/rollout';
import { CLUSTER_VALUES, clusterValues } from './cluster-values.ts';
import { NODE_PATHS, type NodePathType, pathProblem, RUN_DIRECTORY, RUNTIME_SOCKETS, SOCKET_PATH } from './node-paths.ts';
import type { PullerVariable, PullerVariables } from './puller-variables.ts';

/** A path of the node in the puller's pod, always read-only. It is found below `/host` there. */
export interface NodeMount {
  /** Of its volume. */
  readonly name: string;
  readonly path: string;
  readonly type: NodePathType;
}

/** How a pre-cache fits the nodes of one spoke. */
export interface SpokeNode {
  /** The spoke serves SecurityContextConstraints: without leave to use one, no pod with a host path is admitted. */
  readonly hasSccs: boolean;
  /** The spoke's agent makes the puller's account. */
  readonly hasAccount: boolean;
  readonly mounts: readonly NodeMount[];
  /** Variables of the puller, by name. */
  readonly variables: PullerVariables;
  /** Annotations that cannot be used: nothing is put on the spoke until they are mended. */
  readonly problems: readonly string[];
  /** An annotation under our prefix that is not known: what it was meant to say must not be overlooked. */
  readonly unknown: string | undefined;
}

/** Where the puller finds a path of the node. */
export const inPod = (path: string): string => `/host${path}`;

/** What a product is, by the claim `product.open-cluster-management.io` or the label `vendor`. */
const OPENSHIFT = new Set(['OpenShift', 'OpenShiftDedicated', 'OSD', 'ROSA', 'ARO']);
const MORE_WITH_SCCS = new Set(['ROKS', 'MicroShift']);

/** The spoke's own word for what it is: a spoke can change by it what is put on itself, and nothing else. */
function productOf(cluster: ManagedCluster | undefined): string {
  const named = claimOf(cluster, ClusterClaim.product) ?? cluster?.metadata.labels?.vendor ?? '';
  if (OPENSHIFT.has(named) || MORE_WITH_SCCS.has(named)) return named;
  if (claimOf(cluster, ClusterClaim.openshiftVersion)) return 'OpenShift';
  return claimOf(cluster, ClusterClaim.microshiftVersion) ? 'MicroShift' : named;
}

/** Annotations of the ManagedCluster win over what its product has; of an unknown node nothing but `/run` is taken for granted. */
export function spokeNode(cluster: ManagedCluster | undefined): SpokeNode {
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
  const hasAccount = claimedTransports(cluster).includes(PULLER_ACCOUNT);
  return { hasSccs, hasAccount, mounts: [...found.mounts.values()], variables: found.variables, problems: found.problems, unknown };
}

/** All that is read of a ManagedCluster. */
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

/** Once a folder of certificates is named, the puller reads no other: the one beside registries.conf has to be named too. */
function addCertificates({ variables }: Draft): void {
  const { REGISTRIES_CONF_DIR: registries, REGISTRY_CERTS_DIRS: certificates } = variables;
  if (registries && certificates) variables.REGISTRY_CERTS_DIRS = `${registries}/certs.d:${certificates}`;
}

/** The value of an annotation when it may be used; empty says "none". */
function usable(found: Draft, annotation: string, value: string | undefined, places: readonly string[]): string | undefined {
  if (value === undefined || value === '') return value;
  const problem = pathProblem(annotation, value, places);
  if (problem === undefined) return value;
  found.problems.push(problem);
  return undefined;
}
