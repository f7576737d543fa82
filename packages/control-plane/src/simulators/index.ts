export { createRandom, randomUid } from '../random.ts';
export type { ClusterFaults, ClusterPace } from './cluster/actor.ts';
export { type ClusterActors, type ClusterActorsOptions, startClusterActors } from './cluster/cluster-actors.ts';
export { createNode } from './cluster/nodes.ts';
export { renderedConfig } from './cluster/pool-actor.ts';
export { clearCluster, createSmallCluster, reportOperator, type SmallCluster } from './cluster/small-cluster.ts';
export { type OfferedVersions, releaseImage } from './cluster/version-actor.ts';
export { Heap } from './heap.ts';
export {
  type FakeOperators,
  type FakeOperatorsOptions,
  type OperatorFault,
  OperatorScript,
  startFakeOperators,
} from './operators/fake-operators.ts';
export { type PolicyPropagator, type PolicyPropagatorOptions, startPolicyPropagator } from './policy-propagator/policy-propagator.ts';
export type { ComplianceEvent, ComplianceScript, ComplianceState } from './policy-propagator/simulated-compliance.ts';
export { type HttpFront, type HttpFrontOptions, startHttpFront } from './proxies/http-front.ts';
export type { HttpProxy, HttpProxyOptions } from './proxies/http-proxy.ts';
export { startHttpProxy } from './proxies/http-proxy.ts';
export { LINK_SLICE, LinkPace } from './proxies/link-pace.ts';
export { type Relay, type RelayFaults, type RelayOptions, startRelay } from './proxies/relay.ts';
export type { JobShape, NextStatus, SpokeFaults, WorkShape } from './spokes/faults.ts';
export { type RegistrationOptions, registerSpokes } from './spokes/registration.ts';
export { BUILT_IN_KINDS, OPENSHIFT_KINDS } from './spokes/served-kinds.ts';
export type { JobCreation, SpokeEvent } from './spokes/simulated-spoke.ts';
export type { SimulatedSpokes, SimulatedSpokesOptions, SpokeRecord } from './spokes/simulated-spokes.ts';
export { startSimulatedSpokes } from './spokes/simulated-spokes.ts';
export type { SpokeServer } from './spokes/spoke-server.ts';
export { SpokeStore, type StoredObject } from './spokes/spoke-store.ts';
