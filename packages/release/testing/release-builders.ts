/** Builds the head of a release for tests, by path: its metadata, and its images by name (default: one). */
export const buildReleaseHead = (
  version: string,
  images: Readonly<Record<string, string>> = { cli: `registry.example/cli:${version}` },
): Readonly<Record<string, object>> => ({
  'release-manifests/release-metadata': { kind: 'cincinnati-metadata-v0', version },
  'release-manifests/image-references': {
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name: version, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { tags: Object.entries(images).map(([name, image]) => ({ name, from: { kind: 'DockerImage', name: image } })) },
  },
});
