import { foreign } from '@flotilla/api';
import { Deployment } from '@flotilla/api/core';
import { type Client, checkOptions, versionLine } from '@flotilla/runtime';
import { z } from 'zod';
import { connect } from '../hub/connect.ts';
import { AccessOptions } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { writeOut } from '../terminal/output.ts';
import { table } from '../terminal/table.ts';

/** `flotilla version`: the version of this program, and of what runs in a cluster. */
export const showVersion: Run = async (_, given) => {
  const options = checkOptions(AccessOptions, given);
  const own = `${versionLine('flotilla')}\n`;
  if (options.kubeconfig === undefined && options.context === undefined) return writeOut(own);
  await using connected = connect(options);
  writeOut(`${own}${await runningPrograms(connected.client)}\n`);
};

const DeploymentStatus = foreign(
  z.looseObject({
    metadata: z.looseObject({ labels: z.record(z.string(), z.string()).default({}) }),
    spec: z.looseObject({
      replicas: z.number().default(1),
      template: z.looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ image: z.string().default('') })) }) }),
    }),
    status: z.looseObject({ readyReplicas: z.number().default(0) }).default({ readyReplicas: 0 }),
  }),
);

/** Lists the Deployments of our charts in a cluster, each with its version, ready pods and image. One request. */
async function runningPrograms(client: Pick<Client, 'list'>): Promise<string> {
  const { items } = await client.list(Deployment, { labelSelector: 'app.kubernetes.io/part-of=flotilla' });
  const rows = items.map((item) => {
    const { metadata, spec, status } = DeploymentStatus.parse(item);
    const images = spec.template.spec.containers.map(({ image }) => image).join(',');
    const ready = `${status.readyReplicas}/${spec.replicas}`;
    return [item.metadata.namespace ?? '', item.metadata.name, metadata.labels['app.kubernetes.io/version'] ?? '', ready, images];
  });
  if (rows.length === 0) return 'No Deployment of a Flotilla chart is in this cluster.';
  return table(['NAMESPACE', 'DEPLOYMENT', 'VERSION', 'READY', 'IMAGE'], rows);
}
