import { KubeObject } from '@flotilla/api';
import { ClusterVersion, FeatureGate } from '@flotilla/api/config';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { eventually } from '@flotilla/pace/testing';
import { loadPayload, type Manifest, partManifests, releaseFeatureGates } from '@flotilla/release';
import { readPayloadFolder } from '@flotilla/release/folder';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

/** Profile of the clusters that payloads are tried on. */
const PROFILE = 'self-managed-high-availability';

/** What an installer has created before an operator starts. */
interface Bootstrap {
  /** Folders of payloads: the first is installed, gates are listed for all. */
  readonly folders: readonly string[];
}

/** Kinds that a cluster has before its version operator runs. */
const FIRST = ['clusterversions.config.openshift.io', 'clusteroperators.config.openshift.io', 'featuregates.config.openshift.io'];
/** Namespaces that running operators make, not manifests. */
const NAMESPACES = [
  'openshift-cluster-version',
  'openshift-service-ca',
  'openshift',
  'openshift-authentication',
  'openshift-oauth-apiserver',
  'openshift-kube-apiserver',
  'openshift-kube-controller-manager',
  'openshift-kube-scheduler',
  'openshift-apiserver',
  'openshift-controller-manager',
  'openshift-route-controller-manager',
];

async function manifestsOf(folder: string) {
  const { manifests, release } = await loadPayload(readPayloadFolder(folder), { releaseImage: 'r', clusterProfile: PROFILE });
  const audience = { profile: PROFILE, featureSet: 'Default', majorVersion: Number(release.version.split('.', 1)[0]) };
  const featureGates = releaseFeatureGates(manifests, audience) ?? new Set<string>();
  return { version: release.version, featureGates, included: partManifests(manifests, { ...audience, featureGates }).included };
}

/** Makes of an empty cluster one that a release can be installed on. */
export async function bootstrap(client: Client, { folders }: Bootstrap): Promise<void> {
  const payloads = await Promise.all(folders.map(manifestsOf));
  const [first] = payloads;
  const definitions = (first?.included ?? []).filter(({ kind, name }) => kind === 'CustomResourceDefinition' && FIRST.includes(name));
  for (const manifest of definitions) await create(client, manifest);
  await create(client, imageStreams);
  for (const name of NAMESPACES) await ignoring(client.create(Namespace, KubeObject.parse({ metadata: { name } })));
  await eventually(() =>
    ignoring(
      client.create(
        ClusterVersion,
        KubeObject.parse({ metadata: { name: 'version' }, spec: { clusterID: '5a8a1b6c-0d5e-4c5e-8f5a-4d2f0d1c9b3e' } }),
      ),
    ).then(
      () => true,
      () => false,
    ),
  );
  await eventually(() =>
    ignoring(client.create(FeatureGate, KubeObject.parse({ metadata: { name: 'cluster' }, spec: {} }))).then(
      () => true,
      () => false,
    ),
  );
  const featureGates = payloads.map(({ version, featureGates: enabled }) => ({
    version,
    enabled: [...enabled].map((name) => ({ name })),
    disabled: [],
  }));
  await client.patch(FeatureGate, { name: 'cluster' }, { status: { featureGates } }, { type: 'merge', subresource: 'status' });
}

async function create(client: Client, { object }: Pick<Manifest, 'object'>): Promise<void> {
  await ignoring(client.create(CustomResourceDefinition, KubeObject.parse(object)));
}

async function ignoring(created: Promise<unknown>): Promise<void> {
  await created.catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/** A stand-in for the kind that an aggregated API serves. */
const imageStreams = { object: buildOpenDefinition({ group: 'image.openshift.io', kind: 'ImageStream', plural: 'imagestreams' }) };
