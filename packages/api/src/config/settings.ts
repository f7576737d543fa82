import { z } from 'zod';
import { KubeObject, resource } from '../kubernetes.ts';
import { readable, readableList } from '../readable.ts';

const GateNames = readableList(z.looseObject({ name: z.string() }), 5_000);
const FeatureGateSchema = KubeObject.extend({
  spec: readable(z.looseObject({ featureSet: z.string().default('') })),
  status: readable(
    z.looseObject({ featureGates: readableList(z.looseObject({ version: z.string(), enabled: GateNames, disabled: GateNames }), 1_000) }),
  ),
});
/** Feature set of the cluster, and the enabled gates of each release (spec/cvo 1.5). */
export type FeatureGate = z.output<typeof FeatureGateSchema>;
export const FeatureGate = resource('config.openshift.io/v1', 'FeatureGate', 'featuregates', false, FeatureGateSchema);

const ProxySchema = KubeObject.extend({
  status: readable(
    z.looseObject({ httpProxy: z.string().default(''), httpsProxy: z.string().default(''), noProxy: z.string().default('') }),
  ),
});
/** Proxy of the cluster's own components (spec/cvo 3.7). */
export type ClusterProxy = z.output<typeof ProxySchema>;
export const ClusterProxy = resource('config.openshift.io/v1', 'Proxy', 'proxies', false, ProxySchema);

const InfrastructureSchema = KubeObject.extend({
  status: readable(
    z.looseObject({
      /** URL of the API server for components of the cluster. */
      apiServerInternalURI: z.string().default(''),
      controlPlaneTopology: z.string().default(''),
    }),
  ),
});
/** Infrastructure of the cluster (spec/cvo 3.7, 4.1). */
export type Infrastructure = z.output<typeof InfrastructureSchema>;
export const Infrastructure = resource('config.openshift.io/v1', 'Infrastructure', 'infrastructures', false, InfrastructureSchema);

const ApiServerSchema = KubeObject.extend({
  spec: readable(
    z.looseObject({
      tlsSecurityProfile: z
        .looseObject({
          /** Old, Intermediate, Modern or Custom. */
          type: z.string().default(''),
          custom: z.looseObject({ ciphers: z.array(z.string()).default([]), minTLSVersion: z.string().default('') }).nullish(),
        })
        .nullish(),
    }),
  ),
});
/** Configuration of the cluster's API server, with its TLS profile (spec/cvo 3.7). */
export type APIServer = z.output<typeof ApiServerSchema>;
export const APIServer = resource('config.openshift.io/v1', 'APIServer', 'apiservers', false, ApiServerSchema);
