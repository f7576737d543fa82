import type { PayloadFile } from '@flotilla/release';
import { buildRelease, buildReleased, payloadFilesOf } from '@flotilla/release/testing';

interface SmallRelease {
  readonly version: string;
  /** Further objects, one a file, after those of every release. */
  readonly more?: readonly object[];
}

/** Pull spec of a small release. */
export const smallImage = (version: string): string => `registry.example/release@sha256:${version.replaceAll('.', '').padStart(64, '0')}`;

/** A release of one operator, `dns`, with a ConfigMap that says the version. */
export function smallRelease({ version, more = [] }: SmallRelease): PayloadFile[] {
  const objects = [
    buildReleased('v1', 'Namespace', 'openshift-dns'),
    buildReleased('v1', 'ConfigMap', 'release', { namespace: 'openshift-dns', data: { version } }),
    buildReleased('config.openshift.io/v1', 'ClusterOperator', 'dns', { spec: {}, status: { versions: [{ name: 'operator', version }] } }),
    ...more,
  ];
  const files = objects.map((object, index) => [`release-manifests/0000_50_dns_0${index}_object.json`, object] as const);
  return payloadFilesOf(buildRelease(version, Object.fromEntries(files)));
}

/** Script of a small release for the fake operators. */
export const smallScript = (version: string) => ({
  version,
  operators: { dns: { versions: [{ name: 'operator', version }], deployments: [] } },
});
