import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PayloadFile } from '../src/payload/layout.ts';

/** Files of a release by path: objects stand for their JSON. */
export type ReleaseFiles = Readonly<Record<string, string | object>>;

/** Annotations that include an object by the profile alone. */
export const INCLUDED = { 'include.release.openshift.io/self-managed-high-availability': 'true' } as const;

/** Builds an object that every cluster of the default profile takes. */
export const buildReleased = (
  apiVersion: string,
  kind: string,
  name: string,
  {
    namespace,
    annotations,
    ...fields
  }: { readonly namespace?: string; readonly annotations?: object; readonly [field: string]: unknown } = {},
) => ({ apiVersion, kind, metadata: { name, ...(namespace && { namespace }), annotations: { ...INCLUDED, ...annotations } }, ...fields });

/** Builds the head of a release, by path: its metadata, and its images by name (default: one). */
export const buildReleaseHead = (
  version: string,
  images: Readonly<Record<string, string>> = { cli: `registry.example/cli:${version}` },
): Readonly<Record<string, object>> => ({
  'release-manifests/release-metadata': { kind: 'cincinnati-metadata-v0', version, previous: [] },
  'release-manifests/image-references': {
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name: version, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      lookupPolicy: { local: false },
      tags: Object.entries(images).map(([name, image]) => ({ name, annotations: null, from: { kind: 'DockerImage', name: image } })),
    },
  },
});

/** Builds a release that can be loaded: its head, the version operator's own namespace, and further files. */
export const buildRelease = (version: string, files: ReleaseFiles = {}, images?: Readonly<Record<string, string>>): ReleaseFiles => ({
  ...buildReleaseHead(version, images),
  'manifests/0000_00_own_00_namespace.json': buildReleased('v1', 'Namespace', 'openshift-cluster-version'),
  ...files,
});

/** Builds the ConfigMap that says who signs the next release, and where its signatures are. */
export const buildSignersOf = (armoredKey: string, storeUrl: string): object =>
  buildReleased('v1', 'ConfigMap', 'release-verification', {
    namespace: 'openshift-config-managed',
    annotations: { 'release.openshift.io/verification-config-map': '' },
    data: { 'verifier-public-key-tests': armoredKey, 'store-tests': storeUrl },
  });

/** An operator of a release, whose image has its name and the release's version. */
interface ReleasedOperator {
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
}

/** Builds a Deployment and a ClusterOperator of an operator's name. */
export function buildOperator({ name, namespace, version }: ReleasedOperator) {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: `${name}:${version}` }] } };
  return {
    deployment: buildReleased('apps/v1', 'Deployment', name, { namespace, spec: { selector: { matchLabels: labels }, template } }),
    clusterOperator: buildReleased('config.openshift.io/v1', 'ClusterOperator', name, {
      status: { versions: [{ name: 'operator', version }] },
    }),
  };
}

/** Builds the script by which fake operators of a release report. */
export const buildOperatorScript = (version: string, namespace: string, names: readonly string[]) => ({
  version,
  operators: Object.fromEntries(
    names.map((name) => [
      name,
      { versions: [{ name: 'operator', version }], deployments: [{ namespace, name, image: `${name}:${version}` }] },
    ]),
  ),
});

/** Texts of a release's files. */
export const releaseTexts = (files: ReleaseFiles): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(files).map(([path, content]) => [path, typeof content === 'string' ? content : JSON.stringify(content)]),
  );

/** A release as a payload's files. */
export const payloadFilesOf = (files: ReleaseFiles): PayloadFile[] =>
  Object.entries(releaseTexts(files)).map(([path, text]) => ({ path, content: new TextEncoder().encode(text) }));

/** Writes a release into a folder, and returns the folder. */
export async function writeRelease(folder: string, files: ReleaseFiles): Promise<string> {
  for (const [path, text] of Object.entries(releaseTexts(files))) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}
