import type { KubeObject, Resource } from '@flotilla/api';
import { APIServer, ClusterProxy, CONFIG_NAME, FeatureGate, Infrastructure } from '@flotilla/api/config';
import { type BuildContext, buildContextOf, listedGates } from '@flotilla/release';
import { type Client, WatchCache, type WatchSurroundings } from '@flotilla/runtime';

/** The one object of each kind that says how a cluster is set up. A cluster may be without any of them. */
export interface ClusterSettings {
  readonly featureGates: WatchCache<FeatureGate>;
  readonly proxies: WatchCache<ClusterProxy>;
  readonly infrastructures: WatchCache<Infrastructure>;
  readonly apiServers: WatchCache<APIServer>;
}

/** A cluster's settings, not read yet. */
export function clusterSettings(client: Client, surroundings: WatchSurroundings): ClusterSettings {
  const only = <T extends KubeObject>(kind: Resource<T>) =>
    new WatchCache(client, kind, { ...surroundings, fieldSelector: `metadata.name=${CONFIG_NAME}`, optional: true, absentRetryMs: 5_000 });
  return {
    featureGates: only(FeatureGate),
    proxies: only(ClusterProxy),
    infrastructures: only(Infrastructure),
    apiServers: only(APIServer),
  };
}

const REF = { name: CONFIG_NAME };

/** Settings that go into the objects of a release. */
export const contextOf = ({ proxies, infrastructures, apiServers }: ClusterSettings, ownerUid: string | undefined): BuildContext =>
  buildContextOf({ proxy: proxies.get(REF), infrastructure: infrastructures.get(REF), apiServer: apiServers.get(REF), ownerUid });

/** The feature set of a cluster, and the gates that are on under a version; undefined where the cluster lists none for it. */
export function featuresOf({ featureGates }: ClusterSettings, version: string) {
  const gate = featureGates.get(REF);
  return { featureSet: gate?.spec?.featureSet ?? '', listed: listedGates(gate, version) };
}
