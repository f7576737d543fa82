/** Parts that every pod of the puller has, whoever makes it. Pure. */
import { inPod, type NodeMount } from './spoke-node.ts';

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
