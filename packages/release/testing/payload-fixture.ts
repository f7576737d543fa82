import { stringify } from 'yaml';
import type { PayloadFile } from '../src/payload/layout.ts';
import { type Manifest, parseManifests } from '../src/payload/manifest.ts';
import { buildReleaseHead, INCLUDED, payloadFilesOf } from './release-builders.ts';

/** A file of a payload from its text, or from an object as JSON. */
export const payloadFile = (path: string, content: string | object): PayloadFile => ({
  path,
  content: new TextEncoder().encode(typeof content === 'string' ? content : JSON.stringify(content)),
});

/** An object of a payload. */
export const payloadObject = (
  kind: string,
  name: string,
  parts: { apiVersion?: string; annotations?: object; namespace?: string } = {},
): object => ({
  apiVersion: parts.apiVersion ?? 'v1',
  kind,
  metadata: { name, namespace: parts.namespace, annotations: parts.annotations ?? INCLUDED },
});

/** The only manifest of a file. */
export function payloadManifest(file: string, object: object): Manifest {
  const [manifest] = parseManifests(file, new TextEncoder().encode(stringify(object, { version: '1.1' })));
  if (!manifest) throw new Error('no manifest');
  return manifest;
}

/** Files of a payload that can be loaded: its metadata, its images, and a manifest in each folder. */
export const payloadFiles = (version = '4.20.1'): PayloadFile[] => [
  ...payloadFilesOf(buildReleaseHead(version, { cli: 'host/cli:1' })),
  payloadFile('manifests/0000_00_cluster-version-operator_00_a.yaml', payloadObject('Namespace', 'own')),
  payloadFile('release-manifests/0000_50_some-operator_00_a.yaml', payloadObject('Namespace', 'other')),
];
