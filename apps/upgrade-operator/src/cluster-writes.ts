import type { KubeObject, Ref } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { FileIntegrity, MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { type Client, createMissing } from '@flotilla/runtime';
import type { Caches } from './caches.ts';

/** Changes of the steps to the cluster. Each may be repeated. */
export interface ClusterWrites {
  /** Merges into the ClusterVersion; resolves to what it is then. */
  patchClusterVersion(clusterVersion: ClusterVersion, patch: object, signal: AbortSignal): Promise<ClusterVersion>;
  createMachineSet(set: KubeObject, signal: AbortSignal): Promise<void>;
  deleteMachineSet(set: MachineSet, signal: AbortSignal): Promise<void>;
  /** Has the files of nodes read anew, for they changed. */
  reinitFileIntegrity(signal: AbortSignal): Promise<void>;
}

/** FileIntegrity with which FedRAMP clusters watch files of nodes. */
const FILE_INTEGRITY: Required<Ref> = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };

/** Writes through a client; the caches show each write before any watch tells of it. */
export function createClusterWrites(
  client: Pick<Client, 'patch' | 'create' | 'delete'>,
  { clusterVersions, machineSets }: Pick<Caches, 'clusterVersions' | 'machineSets'>,
): ClusterWrites {
  return {
    async patchClusterVersion(_, patch, signal) {
      const after = await client.patch(ClusterVersion, { name: CLUSTER_VERSION_NAME }, patch, { type: 'merge', signal });
      clusterVersions.wrote(after);
      return after;
    },
    async createMachineSet(set, signal) {
      await createMissing(client, MachineSet, set, { signal });
    },
    async deleteMachineSet({ metadata: { name, uid } }, signal) {
      const ref = { namespace: MACHINE_NAMESPACE, name };
      await client.delete(MachineSet, ref, { uid, signal });
      machineSets.deleted(ref, uid);
    },
    async reinitFileIntegrity(signal) {
      const annotations = { 'file-integrity.openshift.io/re-init': '' };
      await client.patch(FileIntegrity, FILE_INTEGRITY, { metadata: { annotations } }, { type: 'merge', signal });
    },
  };
}
