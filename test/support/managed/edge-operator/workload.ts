/** What an operator of an edge release runs, and what it says of it. Pure. */
import { KubeObject, resource } from '@flotilla/api';
import type { OperatorReport, ReportedCondition } from '@flotilla/runtime/cluster-operator';
import { z } from 'zod';

/** Which workload, and of which release. */
interface WorkloadSettings {
  /** Of the operator, its ClusterOperator and its Deployment. */
  readonly name: string;
  readonly namespace: string;
  /** Version of the release. */
  readonly release: string;
  /** Image of the workload, by digest. */
  readonly image: string;
}

const Counts = z.looseObject({
  observedGeneration: z.number().default(0),
  replicas: z.number().default(0),
  updatedReplicas: z.number().default(0),
  availableReplicas: z.number().default(0),
});
const WorkloadSchema = KubeObject.extend({ status: Counts.prefault({}) });
/** A Deployment, as far as the operator reads it. */
export type Workload = z.output<typeof WorkloadSchema>;
export const Workload = resource('apps/v1', 'Deployment', 'deployments', true, WorkloadSchema);

const REPLICAS = 1;

/** The Deployment as this release wants it. The new pod is ready before the old one goes. */
export function workloadOf({ name, namespace, release: version, image }: WorkloadSettings): KubeObject {
  const labels = { app: name };
  return {
    metadata: { name, namespace },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: { ...labels, version } },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }],
        },
      },
    },
  };
}

/** What the operator says of itself while its Deployment is like this. */
export function reportOf({ name, namespace, release: version }: WorkloadSettings, workload: Workload): OperatorReport {
  const { replicas, updatedReplicas, availableReplicas, observedGeneration } = workload.status;
  const isSeen = observedGeneration >= (workload.metadata.generation ?? 0);
  const isRolledOut = isSeen && [replicas, updatedReplicas, availableReplicas].every((count) => count === REPLICAS);
  const say = (status: boolean, reason: string, message: string): ReportedCondition => ({
    status: status ? 'True' : 'False',
    reason,
    message,
  });
  return {
    version,
    conditions: {
      Available:
        availableReplicas > 0 ? say(true, 'AsExpected', 'The workload serves') : say(false, 'NoReplicas', 'No replica is available'),
      Progressing: isRolledOut ? say(false, 'AsExpected', `Version ${version} runs`) : say(true, 'RollingOut', `Rolling out ${version}`),
      Degraded: say(false, 'AsExpected', 'All is well'),
    },
    operands: [{ name, wanted: version, running: isRolledOut ? [version] : [] }],
    relatedObjects: [
      { group: '', resource: 'namespaces', name: namespace },
      { group: 'apps', resource: 'deployments', namespace, name },
    ],
  };
}
