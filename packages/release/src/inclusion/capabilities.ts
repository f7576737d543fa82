import { objectAt, objectsAt } from '../json-values.ts';
import { type Manifest, textOfId } from '../payload/manifest.ts';

/** Optional parts of a cluster. */
export interface Capabilities {
  readonly known: ReadonlySet<string>;
  readonly enabled: ReadonlySet<string>;
  /** Names beyond the known ones do not by themselves leave a manifest out: for a payload that is newer than the one that asks. Default no. */
  readonly allowUnknown?: boolean;
}

const in411 = ['baremetal', 'marketplace', 'openshift-samples', 'MachineAPI'];
const in412 = [...in411, 'Console', 'Insights', 'Storage', 'CSISnapshot'];
const in413 = [...in412, 'NodeTuning'];
const in414 = [...in413, 'Build', 'DeploymentConfig', 'ImageRegistry'];
const in415 = [...in414, 'OperatorLifecycleManager', 'CloudCredential'];
const in416 = [...in415, 'Ingress', 'CloudControllerManager'];
const in418 = [...in416, 'OperatorLifecycleManagerV1'];
const current = [...in418, 'CompatibilityRequirements', 'ClusterAPI'];

/** Names of the capabilities of each baseline that a cluster may ask for. */
export const capabilitySets: ReadonlyMap<string, readonly string[]> = new Map([
  ['None', []],
  ['v4.11', in411],
  ['v4.12', in412],
  ['v4.13', in413],
  ['v4.14', in414],
  ['v4.15', in415],
  ['v4.16', in416],
  ['v4.17', in416],
  ['v4.18', in418],
  ['vCurrent', current],
]);

/** Feature gates that a capability needs, any of them. */
const gatedCapabilities: ReadonlyMap<string, readonly string[]> = new Map([
  ['CompatibilityRequirements', ['CRDCompatibilityRequirementOperator', 'ClusterAPIMachineManagement']],
  ['ClusterAPI', ['ClusterAPIMachineManagement']],
]);

/** Capabilities that there are under a set of feature gates, of those that a release lists, in order. */
export const knownCapabilities = (featureGates: ReadonlySet<string>, listed: readonly string[] = current): readonly string[] =>
  listed.filter((name) => gatedCapabilities.get(name)?.some((gate) => featureGates.has(gate)) ?? true).toSorted();

/** Wishes of a cluster and of its operator. */
export interface WantedCapabilities {
  /** `ClusterVersion.spec.capabilities.baselineCapabilitySet`; default and for an empty one `vCurrent`. */
  readonly baseline?: string;
  /** `ClusterVersion.spec.capabilities.additionalEnabledCapabilities`. */
  readonly additional?: Iterable<string>;
  /** Those enabled before, which cannot be disabled again. */
  readonly previous?: Iterable<string>;
  /** Those that an option of the operator always enables. */
  readonly always?: Iterable<string>;
  readonly featureGates: ReadonlySet<string>;
  /** Those that the release lists; default: those of the newest release that is known here. */
  readonly listed?: readonly string[] | undefined;
}

/** Capabilities of a cluster, and those of them that nobody asked for, in order. */
export interface EnabledCapabilities extends Capabilities {
  readonly implicit: readonly string[];
}

/** Works out what is enabled: what is asked for, what was before, and what always is. */
export function enabledCapabilities({
  baseline,
  additional = [],
  previous = [],
  always = [],
  featureGates,
  listed,
}: WantedCapabilities): EnabledCapabilities {
  const known = new Set(knownCapabilities(featureGates, listed));
  const set = !baseline || baseline === 'vCurrent' ? undefined : (capabilitySets.get(baseline) ?? []);
  const inBaseline = set ? set.filter((name) => known.has(name)) : [...known];
  const asked = new Set([...inBaseline, ...additional]);
  const isThere = (name: string) => !gatedCapabilities.has(name) || known.has(name);
  const enabled = new Set([...asked, ...previous, ...[...always].filter((name) => known.has(name))].filter(isThere).sort());
  return { known, enabled, implicit: [...enabled].filter((name) => !asked.has(name)) };
}

/**
 * Capabilities that a release knows: those that its definition of ClusterVersion takes, because an operator of its time knows as many.
 * Undefined for a release without that definition.
 */
export function releaseCapabilities(manifests: readonly Manifest[]): readonly string[] | undefined {
  const { object } = manifests.find(({ kind, name }) => kind === 'CustomResourceDefinition' && name === CLUSTER_VERSIONS) ?? {};
  for (const { schema } of objectsAt(objectAt(object?.spec).versions)) {
    const capabilities = ['openAPIV3Schema', ...['status', 'capabilities', 'knownCapabilities'].flatMap((name) => ['properties', name])];
    const { items } = objectAt(capabilities.reduce<unknown>((part, name) => objectAt(part)[name], schema));
    const { enum: names } = objectAt(items);
    if (Array.isArray(names)) return names.filter((name) => typeof name === 'string');
  }
  return undefined;
}

const CLUSTER_VERSIONS = 'clusterversions.config.openshift.io';

/** Why a manifest is not for a cluster with these capabilities: all that it names must be known, and enabled. */
export function capabilityRefusal(value: string | undefined, { known, enabled, allowUnknown = false }: Capabilities): string | undefined {
  const names = namesOf(value);
  const unknown = allowUnknown ? [] : names.filter((name) => !known.has(name));
  if (unknown.length > 0) return `unrecognized capability names: ${unknown.join(', ')}`;
  const disabled = names.filter((name) => !enabled.has(name));
  return disabled.length > 0 ? `disabled capabilities: ${disabled.join(', ')}` : undefined;
}

const namesOf = (value: string | undefined): string[] => (value ? value.split('+') : []);
const capabilitiesOf = ({ annotations }: Manifest): string[] => namesOf(annotations?.['capability.openshift.io/name']);

/** Inputs that decide about capabilities that an update enables because their objects are installed. */
interface ImplicitUpdate {
  readonly current: readonly Manifest[];
  readonly update: readonly Manifest[];
  readonly capabilities: Capabilities;
  readonly isIncluded: (manifest: Manifest, capabilities: Capabilities) => boolean;
}

/**
 * Capabilities that an update enables because it puts an object that the cluster has under one that the cluster has not: the object is kept.
 * In order.
 */
export function implicitCapabilities({ current, update, capabilities, isIncluded }: ImplicitUpdate): string[] {
  const wide = { ...capabilities, allowUnknown: true };
  const found = new Set<string>();
  const installed = Map.groupBy(current, textOfId);
  for (const manifest of update) {
    if (isIncluded(manifest, wide)) continue;
    for (const before of installed.get(textOfId(manifest)) ?? []) {
      if (!isIncluded(before, wide)) continue;
      const had = new Set(capabilitiesOf(before));
      for (const name of capabilitiesOf(manifest)) if (!had.has(name) && !capabilities.enabled.has(name)) found.add(name);
    }
  }
  return [...found].sort();
}
