import type { Json } from '../json-values.ts';
import { merged } from './merged.ts';

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
