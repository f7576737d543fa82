import { configCrds } from '@flotilla/api/config';

/** Capabilities that the definition of ClusterVersion takes, by the first minor release whose definition names them. */
const capabilitiesSince: readonly (readonly [since: number, names: readonly string[]])[] = [
  [11, ['openshift-samples', 'baremetal', 'marketplace']],
  [12, ['Console', 'Insights', 'Storage', 'CSISnapshot']],
  [13, ['NodeTuning']],
  [14, ['MachineAPI', 'Build', 'DeploymentConfig', 'ImageRegistry']],
  [15, ['OperatorLifecycleManager', 'CloudCredential']],
  [16, ['Ingress', 'CloudControllerManager']],
  [18, ['OperatorLifecycleManagerV1']],
  // under feature gates
  [23, ['CompatibilityRequirements', 'ClusterAPI']],
];

/** Other fields of its status that came later: a server drops them where they are unknown. */
const ARCHITECTURE_SINCE = 18;
const RISKS_SINCE = 22;

/** Capabilities that the definition of `4.<minor>` takes. */
export const capabilitiesOf = (minor: number): string[] => capabilitiesSince.flatMap(([since, names]) => (since <= minor ? names : []));

/** The definitions of a cluster: the status of ClusterVersion is as release `4.<minor>` has it. */
export const definitionsOf = (minor: number): object[] =>
  configCrds().map((crd) => (crd.metadata.name.startsWith('clusterversions.') ? changed(crd, [], minor) : crd));

/** The definition of ClusterVersion among them. */
export const clusterVersionDefinition = (minor: number): object => definitionsOf(minor)[0] ?? {};

function changed(value: object, path: readonly string[], minor: number): object {
  if (Array.isArray(value)) return value.map((item) => changedPart(item, path, minor));
  const isCapability = 'enum' in value && Array.isArray(value.enum) && value.enum.includes('openshift-samples');
  const entries = Object.entries(value).filter(([key]) => !(path.includes('status') && isLater(key, minor)));
  const parts = Object.fromEntries(entries.map(([key, part]) => [key, changedPart(part, [...path, key], minor)]));
  return isCapability ? { ...parts, enum: capabilitiesOf(minor) } : parts;
}

const changedPart = (part: unknown, path: readonly string[], minor: number): unknown =>
  typeof part === 'object' && part !== null ? changed(part, path, minor) : part;

function isLater(field: string, minor: number): boolean {
  if (field === 'architecture') return minor < ARCHITECTURE_SINCE;
  return (field === 'conditionalUpdateRisks' || field === 'riskNames') && minor < RISKS_SINCE;
}
