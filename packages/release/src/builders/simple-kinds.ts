import { defined, flagOf, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { leaveKeys } from './leftovers.ts';
import { mergeByKey, merged, mergeMaps, textOr } from './merge.ts';
import { injectTls } from './tls.ts';

/** Kinds whose rules are a few lines each (spec/cvo 3.6). */

/** Entries that somebody else put there stay. */
export const configMap = merged(
  (live, built) => ({ data: mergeMaps(live.data, built.data), binaryData: mergeMaps(live.binaryData, built.binaryData) }),
  { build: injectTls },
  { data: leaveKeys, binaryData: leaveKeys },
);

/** Labels and annotations alone are merged. */
export const namespace = merged(() => ({}));

/** Its secrets stay. */
export const serviceAccount = merged((_, built) => ({ automountServiceAccountToken: built.automountServiceAccountToken }));

/** Addresses and whatever else the server chose stay. */
export const service = merged((live, built) => {
  const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
  const ports = mergeByKey(before.ports, next.ports, {
    key: ({ name }) => textAt(name),
    merge: (old, port) => defined({ ...withPortDefaults(port), nodePort: port.nodePort ?? old.nodePort }),
    add: withPortDefaults,
  });
  return { spec: defined({ ...before, ports, type: next.type ?? 'ClusterIP', selector: next.selector }) };
});

const withPortDefaults = (port: Json): Json => ({ protocol: 'TCP', targetPort: port.port, ...port });

/** An aggregated role's rules are the server's. */
export const clusterRole = merged((live, built) =>
  built.aggregationRule === undefined || built.aggregationRule === null
    ? { aggregationRule: undefined, rules: built.rules }
    : { aggregationRule: built.aggregationRule, rules: live.rules },
);

/** Rules are the release's. */
export const role = merged((_, built) => ({ rules: built.rules }));

/** Subjects and role are the release's. */
export const roleBinding = merged((_, built) => ({
  subjects: objectsAt(built.subjects).map(withSubjectGroup),
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...objectAt(built.roleRef) },
}));

const withSubjectGroup = (subject: Json): Json =>
  subject.kind === 'User' || subject.kind === 'Group' ? { apiGroup: 'rbac.authorization.k8s.io', ...subject } : subject;

/** Further tags and what else is known of one stay. */
export const imageStream = merged((live, built) => {
  const [before, next] = [objectAt(live.spec), objectAt(built.spec)];
  const wanted = new Map(objectsAt(next.tags).map((tag) => [textAt(tag.name), tag]));
  const kept = objectsAt(before.tags).map((tag) => {
    const same = wanted.get(textAt(tag.name));
    wanted.delete(textAt(tag.name));
    return same ? defined({ ...tag, from: same.from, importPolicy: withImportMode(same, tag) }) : tag;
  });
  return { spec: defined({ ...before, lookupPolicy: next.lookupPolicy ?? before.lookupPolicy, tags: [...kept, ...wanted.values()] }) };
});

const withImportMode = (tag: Json, live: Json): Json | undefined => {
  if (tag.importPolicy === undefined && live.importPolicy === undefined) return undefined;
  const { importMode, ...rest } = objectAt(tag.importPolicy);
  return defined({ ...rest, importMode: importMode ?? objectAt(live.importPolicy).importMode });
};

/** Selector and namespaces are the release's; account and upgrade strategy stay where it names none. It is created as it is kept. */
export const operatorGroup = merged((live, built) => ({ spec: operatorGroupSpec(objectAt(live.spec), objectAt(built.spec)) }), {
  build: (manifest) => ({ ...manifest, spec: operatorGroupSpec(objectAt(manifest.spec), objectAt(manifest.spec)) }),
});

const operatorGroupSpec = (before: Json, next: Json): Json =>
  defined({
    ...before,
    selector: next.selector,
    targetNamespaces: next.targetNamespaces,
    serviceAccountName: textOr(next.serviceAccountName, before.serviceAccountName),
    staticProvidedAPIs: flagOf(next.staticProvidedAPIs),
    upgradeStrategy: textOr(next.upgradeStrategy, before.upgradeStrategy) ?? 'Default',
  });

/** ValidatingWebhookConfigurations: the list of webhooks is the manifest's (spec/cvo 3.6). */
export const validatingWebhookConfiguration = merged((_, built) => ({ webhooks: objectsAt(built.webhooks).map(withDefaults) }));

function withDefaults(webhook: Json): Json {
  const client = objectAt(webhook.clientConfig);
  return {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...webhook,
    clientConfig: {
      ...client,
      ...(client.service !== undefined && { service: { port: 443, ...objectAt(client.service) } }),
    },
    rules: objectsAt(webhook.rules).map((rule) => ({ scope: '*', ...rule })),
  };
}

/** Fields that every object of the kind has, and what they are where a manifest leaves them out: its CRD wants them said. */
const REQUIRED: Json = {
  priority: null,
  allowPrivilegedContainer: false,
  defaultAddCapabilities: null,
  requiredDropCapabilities: null,
  allowedCapabilities: null,
  allowHostDirVolumePlugin: false,
  volumes: null,
  allowHostNetwork: false,
  allowHostPorts: false,
  allowHostPID: false,
  allowHostIPC: false,
  readOnlyRootFilesystem: false,
  allowPrivilegeEscalation: true,
};
const OPTIONAL = [
  'allowedFlexVolumes',
  'defaultAllowPrivilegeEscalation',
  'seLinuxContext',
  'runAsUser',
  'supplementalGroups',
  'fsGroup',
  'users',
  'groups',
  'seccompProfiles',
  'allowedUnsafeSysctls',
  'forbiddenSysctls',
];

/** SecurityContextConstraints: every field is the manifest's (spec/cvo 3.6). */
export const securityContextConstraints = merged(
  (live, built) => ({
    ...Object.fromEntries([...Object.keys(REQUIRED), ...OPTIONAL].map((field) => [field, built[field]])),
    userNamespaceLevel: built.userNamespaceLevel ?? live.userNamespaceLevel,
  }),
  { build: (manifest) => ({ ...REQUIRED, ...manifest }) },
);
