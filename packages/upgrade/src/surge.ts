/** Extra workers for the time of an upgrade (spec/muo 7.4, 7.5). */
import { type KubeObject, readNamePattern } from '@flotilla/api';
import { MACHINE_NAMESPACE, type Machine, MachineLabel, MachineSet } from '@flotilla/api/machine';
import type { ObservedCluster } from './cluster-version.ts';

/** Pool of workers that every cluster has. */
const WORKERS = 'worker';

const labelOf = ({ metadata }: KubeObject, label: string): string | undefined => metadata.labels?.[label];
/** True for a MachineSet or Machine of an upgrade. */
const isSurge = (object: KubeObject): boolean => labelOf(object, MachineLabel.upgrade) === 'true';

/** True when there is a worker set to copy. */
export const hasWorkerSet = (sets: readonly MachineSet[]): boolean =>
  sets.some((set) => labelOf(set, MachineLabel.pool) === WORKERS && !isSurge(set));

/** Finds the sets to copy: the workers', and those of extra pools whose name matches a pattern. */
export function originalsOf(sets: readonly MachineSet[], extraPools: readonly string[]): MachineSet[] {
  const patterns = extraPools.map(readNamePattern);
  return sets.filter((set) => {
    const pool = labelOf(set, MachineLabel.pool);
    return pool !== undefined && !isSurge(set) && (pool === WORKERS || patterns.some((pattern) => pattern?.(pool)));
  });
}

const surgeName = (original: MachineSet): string => `${original.metadata.name}-upgrade`;

/** Builds the copy of a set, with one machine. */
export function surgeSetOf(original: MachineSet): KubeObject {
  const name = surgeName(original);
  const labels = { [MachineLabel.upgrade]: 'true', [MachineLabel.machineSet]: name };
  const { template, selector, ...spec } = original.spec;
  return {
    apiVersion: MachineSet.apiVersion,
    kind: MachineSet.kind,
    metadata: { name, namespace: MACHINE_NAMESPACE, labels: { [MachineLabel.upgrade]: 'true' } },
    spec: {
      ...spec,
      replicas: 1,
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, ...labels } },
      template: { ...template, metadata: { ...template?.metadata, labels: { ...template?.metadata?.labels, ...labels } } },
    },
  };
}

/** Observed machines and their nodes. */
export type ObservedMachines = Pick<ObservedCluster, 'machineSets' | 'machines' | 'nodes'>;

type Surge =
  | { readonly kind: 'none-to-copy' }
  /** A foreign set has the name of a copy. */
  | { readonly kind: 'name-taken'; readonly name: string }
  | { readonly kind: 'create'; readonly sets: readonly KubeObject[] }
  | { readonly kind: 'waiting'; readonly reason: string; readonly deadlineMs: number }
  | { readonly kind: 'late'; readonly reason: string }
  | { readonly kind: 'ready' };

/** Compares each original with its own copy: a missing copy is created, and one past its deadline is late. */
export function planSurge(observed: ObservedMachines, extraPools: readonly string[], timeOutMs: number, nowMs: number): Surge {
  const originals = originalsOf(observed.machineSets, extraPools);
  if (originals.length === 0) return { kind: 'none-to-copy' };
  const copyOf = (original: MachineSet) => observed.machineSets.find((set) => isSurge(set) && set.metadata.name === surgeName(original));
  const missing = originals.filter((original) => !copyOf(original));
  const taken = missing.map(surgeName).find((name) => observed.machineSets.some(({ metadata }) => metadata.name === name));
  if (taken !== undefined) return { kind: 'name-taken', name: taken };
  if (missing.length > 0) return { kind: 'create', sets: missing.map(surgeSetOf) };
  const unready = originals.flatMap((original) => {
    const copy = copyOf(original);
    const reason = copy && lackOf(copy, observed);
    return copy && reason ? [{ reason, deadlineMs: Date.parse(copy.metadata.creationTimestamp ?? '') + timeOutMs }] : [];
  });
  const [first] = unready.toSorted((a, b) => a.deadlineMs - b.deadlineMs);
  if (!first) return { kind: 'ready' };
  return first.deadlineMs < nowMs ? { kind: 'late', reason: first.reason } : { kind: 'waiting', ...first };
}

/** Describes what a copy lacks; undefined when its machine's node is ready. */
function lackOf(set: MachineSet, { machines, nodes }: ObservedMachines): string | undefined {
  const { name } = set.metadata;
  if (set.metadata.deletionTimestamp) return `MachineSet ${name} is being deleted`;
  const own = machines.filter((machine) => isSurge(machine) && labelOf(machine, MachineLabel.machineSet) === name);
  const broken = own.find(({ status }) => status?.phase === 'Failed');
  if (broken) return `Machine ${broken.metadata.name} has failed${failureOf(broken)}`;
  const { replicas = 0, readyReplicas = 0 } = set.status ?? {};
  if (replicas < 1 || replicas !== readyReplicas) return `MachineSet ${name} has ${readyReplicas} of 1 machines ready`;
  if (own.length !== 1) return `MachineSet ${name} has ${own.length} machines instead of 1`;
  const nodeName = own[0]?.status?.nodeRef?.name;
  if (nodeName === undefined) return `Machine ${own[0]?.metadata.name} is no node yet`;
  const node = nodes.find(({ metadata }) => metadata.name === nodeName);
  const isReady = node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isReady ? undefined : `node ${nodeName} is not ready`;
}

/** Longest quote of a cloud, in characters. */
const LONGEST_QUOTE = 512;

/** The words of the cloud on a machine that it does not make. */
function failureOf({ status }: Machine): string {
  const said = [status?.errorReason, status?.errorMessage].filter((text) => typeof text === 'string' && text !== '').join(': ');
  const line = said.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line === '' ? '' : `: ${line.slice(0, LONGEST_QUOTE)}`;
}

interface SurgeRemains {
  /** Sets that must still be deleted. */
  readonly sets: readonly MachineSet[];
  /** Nodes of machines that run or are being deleted. */
  readonly nodes: readonly string[];
  /** Running or deleting machine without a node. */
  readonly homeless?: string;
  readonly machines: readonly Machine[];
}

/** Finds the remaining extra workers, whether or not the UpgradeConfig asks for any. */
export function surgeRemains({ machineSets, machines }: ObservedMachines): SurgeRemains {
  const own = machines.filter(isSurge);
  const there = own.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Deleting');
  const homeless = there.find(({ status }) => !status?.nodeRef)?.metadata.name;
  return {
    sets: machineSets.filter((set) => isSurge(set) && !set.metadata.deletionTimestamp),
    nodes: there.flatMap(({ status }) => (status?.nodeRef ? [status.nodeRef.name] : [])),
    ...(homeless !== undefined && { homeless }),
    machines: own,
  };
}
