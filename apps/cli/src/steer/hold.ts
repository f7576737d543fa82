import { Annotation, FlotillaError } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import type { Run } from '../run.ts';
import { ClusterOptions, carryOut, Reason } from './change.ts';

const HoldOptions = ClusterOptions.extend({ reason: Reason.default('held') });

/** `flotilla hold CLUSTER`. */
export const holdCluster: Run = async ([name = ''], given) => {
  const options = checkOptions(HoldOptions, given);
  await using connected = connect(options);
  const { client } = connected;
  await carryOut(
    client,
    {
      kind: ManagedCluster,
      object: await readCluster(client, name),
      annotations: { [Annotation.hold]: options.reason },
      clusters: 1,
      says: [
        'no upgrade begins anything on it; what runs there ends',
        'others of its batch go on, and the batch waits for it until its time is up',
      ],
      undo: `flotilla unhold ${name}`,
    },
    options,
  );
};

/** `flotilla unhold CLUSTER`. */
export const unholdCluster: Run = async ([name = ''], given) => {
  const options = checkOptions(ClusterOptions, given);
  await using connected = connect(options);
  const { client } = connected;
  const cluster = await readCluster(client, name);
  await carryOut(
    client,
    {
      kind: ManagedCluster,
      object: cluster,
      annotations: { [Annotation.hold]: undefined },
      clusters: 1,
      says: ['upgrades go on with it as their batches come'],
      undo: `flotilla hold ${name}`,
    },
    options,
  );
};

/** @throws FlotillaError `FLOTILLA_NO_CLUSTER` naming the command that lists those that there are */
async function readCluster(client: Client, name: string): Promise<ManagedCluster> {
  const cluster = await client.get(ManagedCluster, { name });
  if (cluster) return cluster;
  const said = `there is no ManagedCluster ${name} on ${client.server}; kubectl get managedclusters lists those that there are`;
  throw new FlotillaError('FLOTILLA_NO_CLUSTER', said);
}
