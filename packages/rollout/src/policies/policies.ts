import { isJsonObject, Label, perObject } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { type SearchResult, searchText } from '../values/json-value.ts';
import type { PolicyObject, ReadPolicy } from './policy-structure.ts';

/** Compliance of one cluster with one policy. Not matched means that the policy is not placed on the cluster: nothing to do there. */
export type Compliance = 'Compliant' | 'NonCompliant' | 'NotMatchedWithPolicy';

/** A managed policy that was found and is valid. */
export interface ManagedPolicy {
  readonly name: string;
  readonly namespace: string;
  readonly policy: Policy;
  readonly objects: readonly PolicyObject[];
  /** Constant time; the index is built once per policy. */
  readonly compliance: (cluster: string) => Compliance;
}

/** Result of an examination; every managed policy is in exactly one of the lists. */
export interface PolicyExamination {
  /** To be enforced, in the order of the spec. */
  readonly forUpgrade: readonly ManagedPolicy[];
  /** Every selected cluster complies already. */
  readonly compliantBefore: readonly ManagedPolicy[];
  /** Enforced by its author, in the root policy itself: left alone. A copy that another upgrade's binding enforces says nothing. */
  readonly enforced: readonly string[];
  /** Not placed on any selected cluster, or without a parent. */
  readonly missing: readonly string[];
  readonly invalid: readonly { readonly name: string; readonly reason: string }[];
  /** Still being read: nothing can be said of the upgrade before. */
  readonly unread: readonly string[];
  /** Found in more than one namespace: name → namespaces, sorted. */
  readonly ambiguous: Readonly<Record<string, readonly string[]>>;
  /** `status.managedPoliciesNs`: name → namespace of each policy of `forUpgrade`. */
  readonly namespaces: Readonly<Record<string, string>>;
}

/** Where managed policies are looked for. */
interface PolicySelection {
  readonly managedPolicies: readonly string[] | undefined;
  readonly clusters: readonly string[];
  /** Policies in the namespaces of the clusters; others are ignored. */
  readonly children: Iterable<Policy>;
  readonly parents: (namespace: string, name: string) => Policy | undefined;
  readonly read: ReadPolicy;
  /** Only policies of this namespace count; default: of all. */
  readonly namespace?: string | undefined;
  /** A cluster that is not in a policy's roll-up has nothing to do with it, whether or not it has a copy; default false. */
  readonly talmStrict?: boolean;
}

/** Objects of all managed policies of an upgrade: each pass goes through them several times. */
const MAX_OBJECTS = 10_000;

/** A managed policy as its children on the selected clusters show it. */
interface Placed {
  readonly clusters: Set<string>;
  /** Namespaces of the parents that are not enforced by their authors. */
  readonly namespaces: Set<string>;
  problem?: string;
}

/**
 * Finds and judges the managed policies (spec/talm 2.6 rules 1–8), each once per call. Where the reference looks too far we do not
 * (7.3 #13): children of other policies or on other clusters never matter; whether a policy is enforced is judged by the root
 * policy's own remediationAction, since a copy also says enforce while another upgrade remediates it there.
 */
export function examinePolicies(input: PolicySelection): PolicyExamination {
  const names = [...new Set(input.managedPolicies)];
  const placed = findPlaced(new Set(names), input);
  const forUpgrade: ManagedPolicy[] = [];
  const compliantBefore: ManagedPolicy[] = [];
  const enforced: string[] = [];
  const missing: string[] = [];
  const invalid: { name: string; reason: string }[] = [];
  const unread: string[] = [];
  const read = readAtMost(MAX_OBJECTS, input.read);
  const ambiguous: [string, string[]][] = [];

  for (const name of names) {
    const seen = placed.get(name);
    const [namespace, ...others] = seen ? [...seen.namespaces].toSorted() : [];
    if (!seen) missing.push(name);
    else if (namespace === undefined) enforced.push(name);
    else if (others.length > 0) ambiguous.push([name, [namespace, ...others]]);
    else {
      const policy = input.parents(namespace, name);
      if (!policy) {
        missing.push(name);
        continue;
      }
      const structure = seen.problem === undefined ? read(policy) : { invalid: seen.problem };
      if (!structure) {
        unread.push(name);
        continue;
      }
      if (structure.invalid !== undefined) {
        invalid.push({ name, reason: structure.invalid });
        continue;
      }
      const compliance = indexCompliance(policy, (cluster) => !input.talmStrict && seen.clusters.has(cluster));
      const found: ManagedPolicy = { name, namespace, policy, objects: structure.objects, compliance };
      (isDone(found, input.clusters) ? compliantBefore : forUpgrade).push(found);
    }
  }
  const namespaces = Object.fromEntries(forUpgrade.map(({ name, namespace }) => [name, namespace]));
  return { forUpgrade, compliantBefore, enforced, missing, invalid, unread, ambiguous: Object.fromEntries(ambiguous), namespaces };
}

/** Reads policies until they hold so many objects together. */
function readAtMost(most: number, read: ReadPolicy): ReadPolicy {
  let objects = 0;
  return (policy) => {
    const structure = read(policy);
    objects += structure?.objects?.length ?? 0;
    if (!structure?.objects || objects <= most) return structure;
    return {
      invalid: `spec.policy-templates brings the policies of the upgrade to ${objects} objects; at most ${most} are read, divide spec.managedPolicies among several upgrades`,
    };
  };
}

/** Walks the children once; a managed policy without any child on a selected cluster is absent from the answer. */
function findPlaced(names: ReadonlySet<string>, input: Omit<PolicySelection, 'managedPolicies'>): Map<string, Placed> {
  const placed = new Map<string, Placed>();
  const clusters = new Set(input.clusters);
  for (const child of input.children) {
    const parent = parentOf(child);
    if (!parent || (input.namespace !== undefined && parent.namespace !== input.namespace)) continue;
    if (!names.has(parent.name) || !clusters.has(child.metadata.namespace ?? '')) continue;
    const entry = placed.get(parent.name) ?? { clusters: new Set(), namespaces: new Set() };
    placed.set(parent.name, entry);
    entry.clusters.add(child.metadata.namespace ?? '');
    if (isEnforced(input.parents(parent.namespace, parent.name))) continue;
    entry.namespaces.add(parent.namespace);
    entry.problem ??= hubTemplateProblem(child);
  }
  return placed;
}

/** Parent of a replicated policy: `<namespace>.<name>`, split at the first dot. Copies made by an upgrade do not count. */
function parentOf({ metadata }: Policy): { readonly namespace: string; readonly name: string } | undefined {
  const { labels, name } = metadata;
  if (labels?.[Label.rootPolicy] === undefined || labels[Label.upgradeName] !== undefined) return undefined;
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { namespace: name.slice(0, dot), name: name.slice(dot + 1) };
}

/** True for a policy or a copy that enforces, whatever the case it is written in. */
export function isEnforced(policy: Policy | undefined): boolean {
  const action: unknown = policy?.spec?.remediationAction;
  return typeof action === 'string' && action.toLowerCase() === 'enforce';
}

/** There are as many copies as policies times clusters. */
const searchHubTemplate = perObject((child: Policy): SearchResult => searchText(child.spec?.['policy-templates'], '{{hub'));

function hubTemplateProblem(child: Policy): string | undefined {
  const search = searchHubTemplate(child);
  if (search === 'absent') return undefined;
  const what = search === 'found' ? 'has a hub template that could not be resolved' : `is ${search} to be read`;
  return `its copy ${child.metadata.name} in namespace ${child.metadata.namespace} ${what}`;
}

/** A policy that looks at a `status` is never taken as done beforehand: what it waits for may change with the upgrade. */
const isDone = ({ objects, compliance }: ManagedPolicy, clusters: readonly string[]): boolean =>
  !objects.some(({ definition }) => 'status' in definition) && clusters.every((cluster) => compliance(cluster) === 'Compliant');

/**
 * Compliance per cluster from the parent's roll-up (spec/talm 2.6.8): only `Compliant` counts as such; without a roll-up
 * every cluster is non-compliant; with one, a cluster that is not in it is not matched. Where the reference stops there we ask for the
 * policy's copy: a cluster that has one is matched, and the roll-up has only not got to it yet.
 */
export function indexCompliance(policy: Policy, hasCopy: (cluster: string) => boolean): (cluster: string) => Compliance {
  const entries: unknown = policy.status?.status;
  if (!Array.isArray(entries)) return () => 'NonCompliant';
  const index = new Map<unknown, Compliance>();
  for (const entry of entries) {
    // The first entry of a cluster counts, as in a linear search.
    if (isJsonObject(entry) && !index.has(entry.clustername))
      index.set(entry.clustername, entry.compliant === 'Compliant' ? 'Compliant' : 'NonCompliant');
  }
  return (cluster) => index.get(cluster) ?? (hasCopy(cluster) ? 'NonCompliant' : 'NotMatchedWithPolicy');
}
