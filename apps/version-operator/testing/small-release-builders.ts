import type { PayloadFile } from '@flotilla/release';
import { buildReleaseHead } from '@flotilla/release/testing';

interface SmallRelease {
  readonly version: string;
  /** Further objects, one a file, after those of every release. */
  readonly more?: readonly object[];
}

const INCLUDED = { 'include.release.openshift.io/self-managed-high-availability': 'true' };

const file = (path: string, content: object): PayloadFile => ({ path, content: new TextEncoder().encode(JSON.stringify(content)) });

/** An object that every cluster of the default profile takes. */
export const included = (
  apiVersion: string,
  kind: string,
  name: string,
  parts: { namespace?: string; [field: string]: unknown } = {},
): object => {
  const { namespace, ...fields } = parts;
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }), annotations: INCLUDED }, ...fields };
};

/** Pull spec of a small release. */
export const smallImage = (version: string): string => `registry.example/release@sha256:${version.replaceAll('.', '').padStart(64, '0')}`;

/** A release of one operator, `dns`, with a ConfigMap that says the version. */
export function smallRelease({ version, more = [] }: SmallRelease): PayloadFile[] {
  const objects = [
    included('v1', 'Namespace', 'openshift-dns'),
    included('v1', 'ConfigMap', 'release', { namespace: 'openshift-dns', data: { version } }),
    included('config.openshift.io/v1', 'ClusterOperator', 'dns', { spec: {}, status: { versions: [{ name: 'operator', version }] } }),
    ...more,
  ];
  return [
    ...Object.entries(buildReleaseHead(version)).map(([path, content]) => file(path, content)),
    file('manifests/0000_00_own_00_namespace.json', included('v1', 'Namespace', 'openshift-cluster-version')),
    ...objects.map((object, index) => file(`release-manifests/0000_50_dns_0${index}_object.json`, object)),
  ];
}

/** Script of a small release for the fake operators. */
export const smallScript = (version: string) => ({
  version,
  operators: { dns: { versions: [{ name: 'operator', version }], deployments: [] } },
});
