import { join } from 'node:path';
import { buildOperator, buildOperatorScript, buildRelease, buildReleased, INCLUDED, writeRelease } from '@flotilla/release/testing';

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
const namespace = CHAOS_NAMESPACE;
const OPERATORS: readonly (readonly [level: string, name: string])[] = [
  ['10', 'alpha'],
  ['20', 'beta'],
  ['20', 'gamma'],
  ['20', 'delta'],
  ['30', 'epsilon'],
  ['40', 'zeta'],
  ['40', 'eta'],
];

const boats = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.chaos.flotilla.io', annotations: INCLUDED },
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
    released('namespaces', buildReleased('v1', 'Namespace', CHAOS_NAMESPACE), false),
    released('customresourcedefinitions', boats, false),
    released('configmaps', buildReleased('v1', 'ConfigMap', 'release', { namespace, data: { version } })),
  ];
  return [
    { level: '05', name: 'base', objects: base, hasOperator: false },
    ...OPERATORS.map(([level, name]) => ({ level, name, objects: componentObjects(name, version), hasOperator: true })),
  ];
}

function componentObjects(name: string, version: string): ReleasedObject[] {
  const { deployment, clusterOperator } = buildOperator({ name, namespace, version });
  const rules = [{ apiGroups: [''], resources: ['pods'], resourceNames: [version], verbs: ['get'] }];
  return [
    released('serviceaccounts', buildReleased('v1', 'ServiceAccount', name, { namespace }), false),
    released('clusterroles', buildReleased('rbac.authorization.k8s.io/v1', 'ClusterRole', `chaos-${name}`, { rules })),
    released('configmaps', buildReleased('v1', 'ConfigMap', name, { namespace, data: { version } })),
    released('boats', buildReleased('chaos.flotilla.io/v1', 'Boat', name, { namespace, spec: { version } })),
    released('deployments', deployment),
    released('clusteroperators', clusterOperator, false),
  ];
}

function released(resource: string, object: Named, differs = true): ReleasedObject {
  const { name, namespace } = object.metadata;
  return { id: `${resource} ${namespace === undefined ? name : `${namespace}/${name}`}`, differs, object: { ...object } };
}

/** Pull spec of the release. */
export const releaseImageOf = (version: string): string => `release.test/release:${version}`;

/** Reports of the operators of the release. */
export const leveledScript = (version: string) =>
  buildOperatorScript(
    version,
    namespace,
    OPERATORS.map(([, name]) => name),
  );

/** Writes the release into a folder of its own. @returns that folder */
export function writeLeveledRelease(folder: string, version: string): Promise<string> {
  const files = leveledRelease(version).flatMap(({ level, name, objects }) =>
    objects.map(({ object }, index) => [`release-manifests/0000_${level}_${name}_${index}0_object.json`, object] as const),
  );
  return writeRelease(join(folder, version), buildRelease(version, Object.fromEntries(files)));
}
