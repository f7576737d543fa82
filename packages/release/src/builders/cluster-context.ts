import type { APIServer, ClusterProxy, FeatureGate, Infrastructure } from '@flotilla/api/config';
import type { BuildContext } from './builder.ts';
import { tlsOf } from './tls.ts';

/** The objects that say how a cluster is set up; it may be without any of them. */
interface ClusterObjects {
  readonly proxy: ClusterProxy | undefined;
  readonly infrastructure: Infrastructure | undefined;
  readonly apiServer: APIServer | undefined;
  /** uid of the ClusterVersion. */
  readonly ownerUid: string | undefined;
}

/** Settings of a cluster that go into the objects of a release. */
export function buildContextOf({ proxy, infrastructure, apiServer, ownerUid }: ClusterObjects): BuildContext {
  const status = proxy?.status;
  const url = infrastructure?.status?.apiServerInternalURI;
  return {
    ...(ownerUid !== undefined && { ownerUid }),
    ...(status && { proxy: { httpProxy: status.httpProxy, httpsProxy: status.httpsProxy, noProxy: status.noProxy } }),
    ...(url && { apiServerUrl: url }),
    tls: tlsOf(apiServer?.spec?.tlsSecurityProfile),
  };
}

/** Gates that are on under a version; undefined where the cluster lists none for it. */
export function listedGates(gate: FeatureGate | undefined, version: string): ReadonlySet<string> | undefined {
  const listed = gate?.status?.featureGates?.find((entry) => entry.version === version);
  return listed && new Set((listed.enabled ?? []).map(({ name }) => name));
}
