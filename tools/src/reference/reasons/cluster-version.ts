import type { ReasonRows } from './row.ts';

const SERVER = 'see the API server of the cluster; the operator tries again by itself';
const RELEASE = 'see the message, which names the object and the words of the server';
const GRAPH = 'see that the update service can be reached from the cluster, and its proxy and authority';

/** `ReleaseAccepted`, and the events about a release that is taken. */
export const acceptanceReasons: ReasonRows = {
  RetrievePayload: ['The release is being downloaded and verified.', 'when False: see that the registry and the signature can be reached'],
  LoadPayload: ['The release is being read.'],
  VerifyPayloadVersion: ['The version of the release is compared with the one that was asked for.'],
  PreconditionChecks: [
    'The state of the cluster is checked.',
    'when False: mend what the message names, or set `spec.desiredUpdate.force`',
  ],
  PayloadLoaded: ['The release is taken.'],
  RetrievePayloadFailed: [
    'Event: the release could not be downloaded or verified.',
    'see that the registry and the signature can be reached',
  ],
  LoadPayloadFailed: ['Event: the release could not be read.', 'see the message; `flotilla payload lint` names what is wrong in a release'],
  VerifyPayloadVersionFailed: ['The release has another version than the one that was asked for.', 'correct `spec.desiredUpdate`'],
  PreconditionBlock: ['Event: the state of the cluster forbids the update.', 'mend what the message names'],
  PreconditionWarn: ['Event: the update goes on although something speaks against it; the history says so in `acceptedRisks`.'],
  PreconditionsPassed: ['Event: nothing speaks against the update.'],
  StatusValueRefused: [
    'Event: the definition that is served of ClusterVersion, UpgradeConfig or ClusterGroupUpgrade does not take a value of the status, which is left out.',
    'let the update end, which brings the definition of its release; or update the definition',
  ],
  PayloadLoadedFailed: ['Event: the release could not be taken.', 'see the message'],
  UpgradePreconditionCheckFailed: ['The state of the cluster forbids the update.', 'mend what the message names'],
  ImageVerificationFailed: [
    'No valid signature of the release was found.',
    'put the signature into `openshift-config-managed` or a signature store',
  ],
  UpdatePayloadRetrievalFailed: ['The release cannot be downloaded.', 'see that the registry answers and the pull secret is valid'],
  UpdatePayloadIntegrity: [
    'What was downloaded is no usable release.',
    'see the message; `flotilla payload lint` names what is wrong in a release',
  ],
};

/** Reasons of a precondition, in the message of `ReleaseAccepted`. */
export const preconditionReasons: ReasonRows = {
  InvalidCurrentVersion: ['The running version is no semantic version.'],
  InvalidDesiredVersion: ['The wanted version is no semantic version.', 'correct `spec.desiredUpdate.version`'],
  LowDesiredVersion: ['The wanted version is older than the running one, and not a rollback that is supported.', 'ask for a newer version'],
  MajorVersionUpdate: ['The update skips to another major version.', 'update within the major version first'],
  MultipleMinorVersionsUpdate: ['The update skips a minor version.', 'update minor version by minor version'],
  ClusterVersionOverridesSet: ['Overrides are set.', 'remove `spec.overrides` before a minor or major update'],
  MinorVersionClusterUpdateInProgress: ['A minor update is under way.', 'wait for its end'],
  MajorVersionClusterUpdateInProgress: ['A major update is under way.', 'wait for its end'],
  UnknownConditionType: ['An update under conditions has no verdict yet.', 'wait until its risks are evaluated'],
  UnknownUpdate: ['The update graph does not recommend the update.', 'see `oc adm upgrade`, channel and `RetrievedUpdates`'],
  ExposedToRisks: [
    'A risk of the update applies to the cluster.',
    'read the risk; accept it by `spec.desiredUpdate.acceptRisks` where the gate is on',
  ],
};

/** `Failing` and `Progressing` of the ClusterVersion. */
export const failingReasons: ReasonRows = {
  MultipleErrors: ['Several objects fail.', RELEASE],
  ClusterOperatorNotAvailable: ['An operator is not available.', 'see its ClusterOperator'],
  ClusterOperatorsNotAvailable: ['Operators are not available.', 'see their ClusterOperators'],
  ClusterOperatorDegraded: ['An operator is degraded.', 'see its ClusterOperator'],
  ClusterOperatorsDegraded: ['Operators are degraded.', 'see their ClusterOperators'],
  ClusterOperatorUpdating: ['An operator is updating.', 'wait; its ClusterOperator says how far it is'],
  ClusterOperatorsUpdating: ['Operators are updating.', 'wait; their ClusterOperators say how far they are'],
  ClusterOperatorNoVersions: ['An operator reports no version.', 'see its ClusterOperator and its pods'],
  ClusterOperatorsNoVersions: ['Operators report no version.', 'see their ClusterOperators and pods'],
  SlowClusterOperator: ['An operator takes longer than usual.', 'see its ClusterOperator and its pods'],
  WorkloadNotAvailable: ['A Deployment or DaemonSet has too few available pods.', 'see the pods that the message names'],
  WorkloadNotProgressing: ['A workload has made no progress for half an hour, or a Job has failed.', 'see the pods that the message names'],
  WorkloadUpdating: ['A workload is rolling out.', 'wait; the message says how far it is'],
  UpdatePayloadFailed: ['An object could not be applied.', RELEASE],
  UpdatePayloadResourceNotFound: ['An object, its namespace or what it names is not there.', RELEASE],
  UpdatePayloadResourceConflict: ['Somebody else is writing the same object.', 'find who writes it in `managedFields`'],
  UpdatePayloadResourceInvalid: ['The API server says that an object is invalid, or a Job cannot run.', RELEASE],
  UpdatePayloadResourceForbidden: ['The API server forbids the write.', 'see admission policies and the rights of the operator'],
  UpdatePayloadResourceTypeMissing: ['The API server does not know the kind.', 'see extension API servers and CRDs'],
  UpdatePayloadClusterDown: ['The API server does not answer.', SERVER],
  UpdatePayloadClusterError: ['The API server reports an internal error.', SERVER],
  UpdatePayloadClusterOverloaded: ['The API server is overloaded.', SERVER],
  UpdatePayloadClusterUnauthorized: ['The API server does not know the operator.', 'see the token of the operator'],
  ResourceDeletionInProgress: ['An object that the release removes is still there.', 'see its finalizers'],
  ObjectPutBack: ['Event: an object differed from the release and was put back.', 'see who changes it in `managedFields`'],
};

/** `RetrievedUpdates`. */
export const updateReasons: ReasonRows = {
  NoUpstream: ['No update service is set.', 'set `spec.upstream` or `--update-service`'],
  InvalidURI: ['`spec.upstream` is no http or https URL.', 'correct it'],
  InvalidID: ['`spec.clusterID` is no UUID.', 'correct it'],
  NoArchitecture: ['The architecture of the release is not known.'],
  NoCurrentVersion: ['The running version is not known.'],
  NoChannel: ['No channel is set.', 'set `spec.channel`'],
  VersionNotFound: ['The channel does not have the running version.', 'choose a channel that has it'],
  RemoteFailed: ['The update service does not answer.', GRAPH],
  ResponseFailed: ['The update service answers with an error.', GRAPH],
  ResponseInvalid: ['The answer of the update service cannot be read.', GRAPH],
};

/** `Upgradeable`, `Recommended` and `Applies`. */
export const riskReasons: ReasonRows = {
  MultipleReasons: ['Several things speak against the update.', 'see the message'],
  AllExposedRisksAccepted: ['The risks that apply are accepted.'],
  NotExposedToRisks: ['No risk applies.'],
  EvaluationFailed: ['A risk could not be evaluated.', 'see that monitoring of the cluster answers'],
  InternalErrorFoundNoRiskCondition: ['A risk has not been evaluated yet.', 'wait'],
  RiskNameNotCompatibleWithReasonProperty: ['The name of the risk cannot be a reason; the message names it.', 'see the message'],
  Match: ['The risk applies to the cluster.', 'read the risk'],
  NotMatch: ['The risk does not apply.'],
  'Alert:<state>': ['An alert of the cluster speaks against the update.', 'end what the alert is about'],
  AlertUnknown: ['The alerts of the cluster could not be read for a day.', 'see that monitoring of the cluster answers'],
  ClusterVersionOverrides: ['Overrides forbid an update to another minor or major version.', 'remove `spec.overrides`'],
  ClusterVersionUpdating: ['An update is under way.', 'wait for its end'],
  'ClusterOperatorUpgradeable-<operator>': [
    'An operator says that it cannot be upgraded.',
    'see condition `Upgradeable` of its ClusterOperator',
  ],
  'AdminAck-<gate>': [
    'The release asks an administrator to acknowledge something.',
    'read the message, then set the key to `true` in ConfigMap `openshift-config/admin-acks`',
  ],
};

/** Other conditions of the ClusterVersion. */
export const otherReasons: ReasonRows = {
  CapabilitiesImplicitlyEnabled: ['`ImplicitlyEnabledCapabilities`: capabilities that were on stay on although the spec leaves them out.'],
  InvalidClusterVersion: ['`Invalid`: the spec of the ClusterVersion is wrong.', 'correct what the message names'],
};
