import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildReleaseHead } from '@flotilla/release/testing';

type Json = Readonly<Record<string, unknown>>;
type Named = Json & { readonly metadata: Json & { readonly name: string; readonly namespace?: string } };

/** An object of a release, as the audit log names it. */
interface ReleasedObject {
  /** `resource namespace/name`, without the namespace where it has none. */
  readonly id: string;
  /** Another release says something else of it. */
  readonly differs: boolean;
  readonly object: Json;
}

/** Objects that are applied one after the other, beside other components of their level, after those of lower levels. */
export interface ReleasedComponent {
  readonly level: string;
  readonly name: string;
  readonly objects: readonly ReleasedObject[];
  /** Has an operator that is to report the version before a higher level is touched. */
  readonly hasOperator: boolean;
}

/** Namespace of all that is in one. */
export const CHAOS_NAMESPACE = 'openshift-chaos';
const OWN_NAMESPACE = 'openshift-cluster-version';
const OPERATORS: readonly (readonly [level: string, name: string])[] = [
  ['10', 'alpha'],
  ['20', 'beta'],
  ['20', 'gamma'],
  ['20', 'delta'],
  ['30', 'epsilon'],
  ['40', 'zeta'],
  ['40', 'eta'],
];

const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const inNamespace = (name: string) => ({ name, namespace: CHAOS_NAMESPACE, annotations });

const boats = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.chaos.flotilla.io', annotations },
  spec: {
    group: 'chaos.flotilla.io',
    names: { kind: 'Boat', plural: 'boats' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { version: { type: 'string' }, colour: { type: 'string', default: 'white' } } },
            },
          },
        },
      },
    ],
  },
};

/** A release of 46 objects on five levels, two of which have components beside one another. */
export function leveledRelease(version: string): readonly ReleasedComponent[] {
  const base: readonly ReleasedObject[] = [
    released('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: CHAOS_NAMESPACE, annotations } }, false),
    released('customresourcedefinitions', boats, false),
    released('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: inNamespace('release'), data: { version } }),
  ];
  return [
    { level: '05', name: 'base', objects: base, hasOperator: false },
    ...OPERATORS.map(([level, name]) => ({ level, name, objects: componentObjects(name, version), hasOperator: true })),
  ];
}

function componentObjects(name: string, version: string): ReleasedObject[] {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: imageOf(name, version) }] } };
  return [
    released('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inNamespace(name) }, false),
    released('clusterroles', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `chaos-${name}`, annotations },
      rules: [{ apiGroups: [''], resources: ['pods'], resourceNames: [version], verbs: ['get'] }],
    }),
    released('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: inNamespace(name), data: { version } }),
    released('boats', { apiVersion: 'chaos.flotilla.io/v1', kind: 'Boat', metadata: inNamespace(name), spec: { version } }),
    released('deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: inNamespace(name),
      spec: { selector: { matchLabels: labels }, template },
    }),
    released(
      'clusteroperators',
      {
        apiVersion: 'config.openshift.io/v1',
        kind: 'ClusterOperator',
        metadata: { name, annotations },
        status: { versions: [{ name: 'operator', version }] },
      },
      false,
    ),
  ];
}

function released(resource: string, object: Named, differs = true): ReleasedObject {
  const { name, namespace } = object.metadata;
  return { id: `${resource} ${namespace === undefined ? name : `${namespace}/${name}`}`, differs, object: { ...object } };
}

const imageOf = (name: string, version: string): string => `${name}:${version}`;

/** Pull spec of the release. */
export const releaseImageOf = (version: string): string => `release.test/release:${version}`;

/** What the operators of the release report. */
export const leveledScript = (version: string) => ({
  version,
  operators: Object.fromEntries(
    OPERATORS.map(([, name]) => [
      name,
      {
        versions: [{ name: 'operator', version }],
        deployments: [{ namespace: CHAOS_NAMESPACE, name, image: imageOf(name, version) }],
      },
    ]),
  ),
});

/** Writes the release into a folder of its own. @returns that folder */
export async function writeLeveledRelease(folder: string, version: string): Promise<string> {
  const root = join(folder, version);
  const write = (name: string, content: unknown) => writeFile(join(root, name), JSON.stringify(content));
  await mkdir(join(root, 'manifests'), { recursive: true });
  await mkdir(join(root, 'release-manifests'));
  const own = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OWN_NAMESPACE, annotations } };
  await write('manifests/0000_00_own_00_namespace.json', own);
  for (const [path, content] of Object.entries(buildReleaseHead(version))) await write(path, content);
  for (const { level, name, objects } of leveledRelease(version))
    for (const [index, { object }] of objects.entries())
      await write(`release-manifests/0000_${level}_${name}_${index}0_object.json`, object);
  return root;
}
