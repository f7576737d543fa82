import { type KubeObject, KubeObject as KubeObjectSchema, type Resource, untyped } from '@flotilla/api';
import {
  APIServer,
  CLUSTER_VERSION_NAME,
  ClusterProxy,
  ClusterVersion,
  CONFIG_NAME,
  FeatureGate,
  Infrastructure,
} from '@flotilla/api/config';
import { type BuildContext, buildContextOf, listedGates } from '@flotilla/release';
import { type Client, groupVersion, readServedResources, type ServedResource } from '@flotilla/runtime';

/** Settings of a cluster that select and fill a release's objects. */
export interface ClusterView {
  readonly clusterVersion: ClusterVersion | undefined;
  readonly featureSet: string;
  /** Enabled gates of a version; undefined where the cluster lists none for it. */
  readonly gatesOf: (version: string) => ReadonlySet<string> | undefined;
  readonly context: BuildContext;
}

/** Reads a cluster's settings; missing ones have their defaults. */
export async function viewCluster(client: Client): Promise<ClusterView> {
  const only = <T extends KubeObject>(kind: Resource<T>) => client.get(kind, { name: CONFIG_NAME });
  const [clusterVersion, gates, proxy, infrastructure, apiServer] = await Promise.all([
    client.get(ClusterVersion, { name: CLUSTER_VERSION_NAME }),
    only(FeatureGate),
    only(ClusterProxy),
    only(Infrastructure),
    only(APIServer),
  ]);
  return {
    clusterVersion,
    featureSet: gates?.spec?.featureSet || 'Default',
    gatesOf: (version) => listedGates(gates, version),
    context: buildContextOf({ proxy, infrastructure, apiServer, ownerUid: clusterVersion?.metadata.uid }),
  };
}

/** Finds the kinds that a server serves, with one request for each group and version. */
export class ServedKinds {
  readonly #client: Client;
  readonly #read = new Map<string, Promise<ServedResource[]>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Finds a kind; undefined when the server does not know it. */
  async find({ group, version, kind }: { group: string; version: string; kind: string }): Promise<Resource | undefined> {
    const key = groupVersion(group, version);
    const reading = this.#read.get(key) ?? readServedResources(this.#client, group, version);
    this.#read.set(key, reading);
    const served = (await reading).find((one) => one.kind === kind);
    return served && { ...untyped(key, kind, served.plural, served.namespaced), schema: KubeObjectSchema };
  }
}
