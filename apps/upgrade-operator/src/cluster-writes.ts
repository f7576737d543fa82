import type { KubeObject, Ref } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { FileIntegrity, MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

/** What steps change in the cluster. Each may be repeated. */
export interface ClusterWrites {
  /** Merges into the ClusterVersion; resolves to what it is then. */
  patchClusterVersion(clusterVersion: ClusterVersion, patch: object, signal: AbortSignal): Promise<ClusterVersion>;
  createMachineSet(set: KubeObject, signal: AbortSignal): Promise<void>;
  deleteMachineSet(set: MachineSet, signal: AbortSignal): Promise<void>;
  /** Has the files of nodes read anew, for they changed. */
  reinitFileIntegrity(signal: AbortSignal): Promise<void>;
}

/** Where FedRAMP clusters watch files of nodes. */
const FILE_INTEGRITY: Required<Ref> = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };

/** Learns of each write before any watch does. */
interface WriteListener {
  /** @param clusterVersion as a change made it */
  onClusterVersion(clusterVersion: ClusterVersion): void;
  onMachineSetDeleted(ref: Required<Ref>, uid: string | undefined): void;
}

/** Writes through a client. */
export function createClusterWrites(client: Pick<Client, 'patch' | 'create' | 'delete'>, listener: WriteListener): ClusterWrites {
  return {
    async patchClusterVersion(_, patch, signal) {
      const after = await client.patch(ClusterVersion, { name: CLUSTER_VERSION_NAME }, patch, { type: 'merge', signal });
      listener.onClusterVersion(after);
      return after;
    },
    async createMachineSet(set, signal) {
      try {
        await client.create(MachineSet, set, { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    },
    async deleteMachineSet({ metadata: { name, uid } }, signal) {
      const ref = { namespace: MACHINE_NAMESPACE, name };
      await client.delete(MachineSet, ref, { uid, signal });
      listener.onMachineSetDeleted(ref, uid);
    },
    async reinitFileIntegrity(signal) {
      const annotations = { 'file-integrity.openshift.io/re-init': '' };
      await client.patch(FileIntegrity, FILE_INTEGRITY, { metadata: { annotations } }, { type: 'merge', signal });
    },
  };
}
