/** The reference's job, field by field (spec/talm 3.6), for workload images that expect the host under /host. Pure. */
import { SpokeName } from '@flotilla/api';
import type { WorkloadInputs } from './workload-inputs.ts';

/** Lets the pod run on the management cores of a partitioned node. */
export const MANAGEMENT_ANNOTATION = { 'target.workload.openshift.io/management': '{"effect":"PreferredDuringScheduling"}' };

interface HostMount {
  readonly path: string;
  readonly readOnly?: true;
  readonly type?: 'File';
}

const hostMounts: readonly HostMount[] = [
  { path: '/etc/containers', readOnly: true },
  { path: '/etc/pki/ca-trust', readOnly: true },
  { path: '/etc/resolv.conf', readOnly: true, type: 'File' },
  { path: '/lib64', readOnly: true },
  { path: '/proc', readOnly: true },
  { path: '/usr/bin', readOnly: true },
  { path: '/usr/lib', readOnly: true },
  { path: '/usr/lib64', readOnly: true },
  { path: '/usr/libexec', readOnly: true },
  { path: '/usr/share/containers', readOnly: true },
  { path: '/var/lib/cni', readOnly: true },
  { path: '/var/lib/kubelet', readOnly: true },
  { path: '/sys/fs/cgroup', readOnly: true },
  { path: '/run' },
  { path: '/tmp' },
  { path: '/var/lib/containers' },
  { path: '/var/tmp' },
];

/** `host-etc-resolv.conf` is no volume name, so dots become dashes; the cgroup mount has a name of its own. */
const volumeName = (path: string): string => (path === '/sys/fs/cgroup' ? 'sys-fs-cgroup' : `host${path.replaceAll(/[/.]/g, '-')}`);

/** Job `pre-cache` as the reference writes it. */
export function talmJobTemplate(inputs: WorkloadInputs): Record<string, unknown> {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: SpokeName.job, namespace: SpokeName.namespace, annotations: MANAGEMENT_ANNOTATION },
    spec: {
      activeDeadlineSeconds: inputs.deadlineSeconds,
      backoffLimit: 0,
      template: {
        metadata: { name: SpokeName.job, annotations: MANAGEMENT_ANNOTATION },
        spec: {
          containers: [
            {
              name: SpokeName.container,
              image: inputs.image,
              command: ['/bin/bash', '-c'],
              args: ['/opt/precache/precache.sh'],
              env: [
                { name: 'config_volume_path', value: '/tmp/precache/config' },
                { name: 'NODE_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'spec.nodeName' } } },
              ],
              resources: {},
              securityContext: { privileged: true, runAsUser: 0 },
              terminationMessagePath: '/dev/termination-log',
              terminationMessagePolicy: 'File',
              volumeMounts: [
                { name: 'config-volume', mountPath: '/etc/config', readOnly: true },
                { name: 'host', mountPath: '/host' },
                ...hostMounts.map(({ path, readOnly }) => ({
                  name: volumeName(path),
                  mountPath: `/host${path}`,
                  ...(readOnly && { readOnly }),
                })),
              ],
            },
          ],
          dnsPolicy: 'ClusterFirst',
          priorityClassName: 'system-cluster-critical',
          restartPolicy: 'Never',
          schedulerName: 'default-scheduler',
          securityContext: {},
          serviceAccountName: SpokeName.serviceAccount,
          volumes: [
            { name: 'config-volume', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } },
            { name: 'host', emptyDir: {} },
            ...hostMounts.map(({ path, type }) => ({ name: volumeName(path), hostPath: { path, type: type ?? 'Directory' } })),
          ],
        },
      },
    },
  };
}
