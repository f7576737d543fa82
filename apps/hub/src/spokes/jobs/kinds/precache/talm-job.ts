/** Builds the reference's job, field by field (spec/talm 3.6), for workload images that expect the host under /host. Pure. */
import { SpokeName } from '@flotilla/api/ran';
import type { SpokeManifest } from '../../../transports/port/port.ts';
import { type HostMount, MANAGEMENT_ANNOTATION, mountHost } from '../../templates.ts';
import type { WorkloadInputs } from './inputs.ts';

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
  { path: '/sys/fs/cgroup', readOnly: true, name: 'sys-fs-cgroup' },
  { path: '/run' },
  { path: '/tmp' },
  { path: '/var/lib/containers' },
  { path: '/var/tmp' },
];

/** Builds Job `pre-cache` as the reference writes it. */
export function talmJobTemplate(inputs: WorkloadInputs): SpokeManifest['template'] {
  const host = mountHost(hostMounts);
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
              volumeMounts: [{ name: 'config-volume', mountPath: '/etc/config', readOnly: true }, ...host.volumeMounts],
            },
          ],
          dnsPolicy: 'ClusterFirst',
          priorityClassName: 'system-cluster-critical',
          restartPolicy: 'Never',
          schedulerName: 'default-scheduler',
          securityContext: {},
          serviceAccountName: SpokeName.serviceAccount,
          volumes: [{ name: 'config-volume', configMap: { name: SpokeName.specConfigMap, defaultMode: 420 } }, ...host.volumes],
        },
      },
    },
  };
}
