import { UNSEEN } from '../crd.ts';
import { anyObject, choice, condition, flag, int64, list, object, text, texts } from '../schema-parts.ts';

/** Schemas of ClusterVersion and ClusterOperator, written out as clusters enforce them today (spec/cvo 5, 6). */
const CAPABILITIES = [
  'openshift-samples',
  'baremetal',
  'marketplace',
  'Console',
  'Insights',
  'Storage',
  'CSISnapshot',
  'NodeTuning',
  'MachineAPI',
  'Build',
  'DeploymentConfig',
  'ImageRegistry',
  'OperatorLifecycleManager',
  'CloudCredential',
  'Ingress',
  'CloudControllerManager',
  'OperatorLifecycleManagerV1',
  // under feature gates; a status that names them must be stored too
  'CompatibilityRequirements',
  'ClusterAPI',
];
const BASELINES = ['None', 'v4.11', 'v4.12', 'v4.13', 'v4.14', 'v4.15', 'v4.16', 'v4.17', 'v4.18', 'vCurrent'];

const atomic = { 'x-kubernetes-list-type': 'atomic' };
const byKeys = (...keys: readonly string[]) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });
const time = { ...text, format: 'date-time' };
const capabilities = { ...list(choice(...CAPABILITIES)), ...atomic };
const architecture = choice('Multi', '');
const release = object({ architecture, channels: { ...texts, 'x-kubernetes-list-type': 'set' }, image: text, url: text, version: text }, [
  'image',
  'version',
]);
const conditions = {
  ...list(
    object({ type: text, status: text, reason: text, message: text, lastTransitionTime: time }, ['lastTransitionTime', 'status', 'type']),
  ),
  ...byKeys('type'),
};

const desiredUpdate = {
  ...object({
    acceptRisks: { ...list(object({ name: { ...text, minLength: 1, maxLength: 256 } }, ['name'])), maxItems: 1000, ...byKeys('name') },
    architecture,
    force: flag,
    image: text,
    version: text,
  }),
  'x-kubernetes-validations': [
    {
      rule: "!has(self.architecture) || !has(self.image) || self.architecture == '' || self.image == ''",
      message: 'cannot set both Architecture and Image',
    },
    {
      rule: "!has(self.architecture) || self.architecture == '' || (has(self.version) && self.version != '')",
      message: 'Version must be set if Architecture is set',
    },
  ],
};
const override = object({ group: text, kind: text, name: text, namespace: text, unmanaged: flag }, [
  'group',
  'kind',
  'name',
  'namespace',
  'unmanaged',
]);
const risk = object(
  {
    conditions: { ...list(condition), maxItems: 8, ...byKeys('type') },
    matchingRules: {
      ...list(object({ type: choice('Always', 'PromQL'), promql: object({ promql: text }, ['promql']) }, ['type'])),
      minItems: 1,
      ...atomic,
    },
    message: { ...text, minLength: 1 },
    name: { ...text, minLength: 1 },
    url: { ...text, format: 'uri', minLength: 1 },
  },
  ['matchingRules', 'message', 'name', 'url'],
);
const conditionalUpdate = object(
  {
    conditions: { ...list(condition), ...byKeys('type') },
    release,
    riskNames: { ...texts, maxItems: 500, 'x-kubernetes-list-type': 'set' },
    risks: { ...list(risk), minItems: 1, maxItems: 200, ...byKeys('name') },
  },
  ['release', 'risks'],
);
const historyEntry = object(
  {
    acceptedRisks: text,
    completionTime: { ...time, nullable: true },
    image: text,
    startedTime: time,
    state: text,
    verified: flag,
    version: text,
  },
  ['completionTime', 'image', 'startedTime', 'state', 'verified'],
);

/** `spec`, `status` and rules of ClusterVersion (spec/cvo 5). */
export const clusterVersionSchema = {
  spec: object(
    {
      capabilities: object({ additionalEnabledCapabilities: capabilities, baselineCapabilitySet: choice(...BASELINES) }),
      channel: text,
      clusterID: text,
      desiredUpdate,
      overrides: { ...list(override), ...byKeys('kind', 'group', 'namespace', 'name') },
      signatureStores: {
        ...list(object({ url: { ...text, maxLength: 2048 }, ca: object({ name: text }, ['name']) }, ['url'])),
        maxItems: 32,
        ...byKeys('url'),
      },
      upstream: text,
    },
    ['clusterID'],
  ),
  status: {
    // With everything that is required: a default has to be valid.
    default: { ...UNSEEN, availableUpdates: null, desired: { image: '', version: '' }, versionHash: '' },
    ...object(
      {
        availableUpdates: { ...list(release), nullable: true, ...atomic },
        capabilities: object({ enabledCapabilities: capabilities, knownCapabilities: capabilities }),
        conditionalUpdateRisks: { ...list(risk), maxItems: 500, ...byKeys('name') },
        conditionalUpdates: { ...list(conditionalUpdate), maxItems: 500, ...atomic },
        conditions,
        desired: release,
        history: { ...list(historyEntry), ...atomic },
        observedGeneration: int64,
        versionHash: text,
      },
      ['availableUpdates', 'desired', 'observedGeneration', 'versionHash'],
    ),
  },
  required: ['spec'],
  rules: [
    {
      rule: "!has(self.spec.capabilities) || !has(self.spec.capabilities.additionalEnabledCapabilities) || !has(self.spec.capabilities.baselineCapabilitySet) || self.spec.capabilities.baselineCapabilitySet != 'None' || !('marketplace' in self.spec.capabilities.additionalEnabledCapabilities) || 'OperatorLifecycleManager' in self.spec.capabilities.additionalEnabledCapabilities || (has(self.status) && has(self.status.capabilities) && has(self.status.capabilities.enabledCapabilities) && 'OperatorLifecycleManager' in self.status.capabilities.enabledCapabilities)",
      message:
        'the `marketplace` capability requires the `OperatorLifecycleManager` capability, which is neither explicitly or implicitly enabled in this cluster, please enable the `OperatorLifecycleManager` capability',
    },
  ],
};

/** `spec` and `status` of ClusterOperator (spec/cvo 6). */
export const clusterOperatorSchema = {
  spec: { type: 'object' },
  status: object({
    conditions,
    extension: { ...anyObject, nullable: true },
    relatedObjects: list(object({ group: text, name: text, namespace: text, resource: text }, ['group', 'name', 'resource'])),
    versions: list(object({ name: text, version: text }, ['name', 'version'])),
  }),
  required: ['spec'],
};
