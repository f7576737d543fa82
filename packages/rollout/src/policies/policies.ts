import { Label, perObject } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import type { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import type { PolicyRef } from '../upgrade/model.ts';
import { type SearchResult, searchText } from '../values/json-value.ts';
import type { PolicyObject, ReadPolicy } from './policy-structure.ts';
import { type PolicyWays, reachOf } from './reach.ts';
import { lookAt, type PolicyLook } from './standing.ts';

/** A managed policy that was found and is valid. */
export interface ManagedPolicy {
  readonly name: string;
  readonly namespace: string;
  readonly policy: Policy;
  readonly objects: readonly PolicyObject[];
  /** A text of it that cannot be read, and why: its images are not known. */
  readonly unread?: string | undefined;
  /** Constant time; the index is built once per policy. */
  readonly look: (cluster: string) => PolicyLook;
}

/** A managed policy that no selected cluster has, and why, where that is known. */
interface MissingPolicy {
  readonly name: string;
  readonly why?: string | undefined;
}

/** Result of an examination; every managed policy is in exactly one of the lists. */
export interface PolicyExamination {
  /** To be enforced, in the order of the spec. */
  readonly forUpgrade: readonly ManagedPolicy[];
  /** Every selected cluster complies already. */
  readonly compliantBefore: readonly ManagedPolicy[];
  /**
   * Enforced by its author, in the root policy itself: left alone where every cluster complies, and by the reference always. A copy that another
   * upgrade's binding enforces says nothing.
   */
  readonly enforced: readonly string[];
  /** Not placed on any selected cluster, or without a parent. */
  readonly missing: readonly MissingPolicy[];
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
  /** Objects that place policies; absent: nothing is asked of them, as by the reference. */
  readonly ways?: PolicyWays | undefined;
  /** Root policies of a name, to say why one is missing. */
  readonly named?: (name: string) => readonly Policy[];
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
  /** Namespaces of those that are. */
  readonly enforced: Set<string>;
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
  const examined = { forUpgrade: [], compliantBefore: [], enforced: [], missing: [], invalid: [], unread: [] } as Examined;
  const read = readAtMost(MAX_OBJECTS, input.read);
  const ambiguous: [string, string[]][] = [];

  for (const name of names) {
    const seen = placed.get(name);
    const [namespace, ...others] = seen ? candidates(seen, input) : [];
    if (!seen) examined.missing.push({ name, why: whyMissing(name, input) });
    else if (namespace === undefined) examined.enforced.push(name);
    else if (others.length > 0) ambiguous.push([name, [namespace, ...others]]);
    else examineOne({ name, namespace }, { seen, input, read }, examined);
  }
  const namespaces = Object.fromEntries(examined.forUpgrade.map(({ name, namespace }) => [name, namespace]));
  return { ...examined, ambiguous: Object.fromEntries(ambiguous), namespaces };
}

/** The lists of an examination under construction. */
type Examined = { readonly [List in keyof Lists]: Lists[List][number][] };
type Lists = Omit<PolicyExamination, 'ambiguous' | 'namespaces'>;

/** Puts a policy that has copies into its list. */
function examineOne(
  ref: PolicyRef,
  { seen, input, read }: { readonly seen: Placed; readonly input: PolicySelection; readonly read: ReadPolicy },
  to: Examined,
): void {
  const { name } = ref;
  const policy = input.parents(ref.namespace, name);
  if (!policy) {
    to.missing.push({ name });
    return;
  }
  const { objects, invalid: reason, unread } = (seen.problem === undefined ? read(policy) : { invalid: seen.problem }) ?? {};
  if (reason !== undefined) to.invalid.push({ name, reason });
  else if (objects === undefined) to.unread.push(name);
  else {
    const hasCopy = (cluster: string) => !input.talmStrict && seen.clusters.has(cluster);
    const found: ManagedPolicy = {
      ...ref,
      policy,
      objects,
      ...(unread !== undefined && { unread }),
      look: lookAt({ ref, policy, hasCopy, ways: input.ways }),
    };
    if (isLeftAlone(found, input.clusters)) to.enforced.push(name);
    else (isDone(found, input.clusters) ? to.compliantBefore : to.forUpgrade).push(found);
  }
}

/** Its author enforces it, and no selected cluster has anything left to do. */
const isLeftAlone = ({ policy, look }: ManagedPolicy, clusters: readonly string[]): boolean =>
  isEnforced(policy) && clusters.every((cluster) => isSettled(look(cluster)));

/** The cluster is done with the policy, or is known to have nothing to do with it. */
const isSettled = ({ standing }: PolicyLook): boolean => standing === 'done' || standing === 'notMatched';

/** Namespaces whose policy of that name may be for the upgrade. The reference passes over one that its author enforces; here it is waited for. */
function candidates({ namespaces, enforced }: Placed, { ways }: Pick<PolicySelection, 'ways'>): string[] {
  const sorted = [...namespaces].toSorted();
  return sorted.length === 0 && ways ? [...enforced].toSorted().slice(0, 1) : sorted;
}

/** Why no selected cluster has a copy, where a root policy of that name is there. */
function whyMissing(name: string, { ways, named, clusters, namespace }: PolicySelection): string | undefined {
  const policy = named?.(name).find(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  const [cluster] = clusters;
  if (!policy || !ways || cluster === undefined) return undefined;
  const ref = { name, namespace: policy.metadata.namespace ?? '' };
  const { says, fix } = reachOf(ref, policy, ways)(cluster).why;
  return `Policy ${ref.namespace}/${name} is there, but ${says}: ${fix}`;
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
    const entry = placed.get(parent.name) ?? { clusters: new Set(), namespaces: new Set(), enforced: new Set() };
    placed.set(parent.name, entry);
    entry.clusters.add(child.metadata.namespace ?? '');
    if (isEnforced(input.parents(parent.namespace, parent.name))) {
      entry.enforced.add(parent.namespace);
      continue;
    }
    entry.namespaces.add(parent.namespace);
    entry.problem ??= hubTemplateProblem(child);
  }
  return placed;
}

/** Parent of a replicated policy: `<namespace>.<name>`, split at the first dot. Copies made by an upgrade do not count. */
function parentOf({ metadata }: Policy): PolicyRef | undefined {
  const { labels, name } = metadata;
  if (labels?.[Label.rootPolicy] === undefined || labels[Label.upgradeName] !== undefined) return undefined;
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { namespace: name.slice(0, dot), name: parentName({ metadata }) };
}

/** Name of the parent of a replicated policy: neither part of a namespace holds a dot. */
export const parentName = ({ metadata: { name } }: Pick<Policy, 'metadata'>): string => name.slice(name.indexOf('.') + 1);

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
const isDone = ({ objects, look }: ManagedPolicy, clusters: readonly string[]): boolean =>
  !objects.some(({ definition }) => 'status' in definition) && clusters.every((cluster) => look(cluster).standing === 'done');

/** Facts that decide whether a cluster has to be worked on. */
interface WorkInput {
  readonly spec: Pick<ClusterGroupUpgradeSpec, 'managedPolicies' | 'manifestWorkTemplates' | 'preCaching'>;
  /** Ignored in ManifestWork mode. */
  readonly examination: Pick<PolicyExamination, 'forUpgrade'>;
  /** Decide as the reference does where we differ. */
  readonly talmStrict: boolean;
}

/** True when the upgrade rolls out ManifestWorks; its policies, if any, are then never looked at (spec/talm 1.1). */
export const isManifestWorkMode = (spec: Pick<ClusterGroupUpgradeSpec, 'manifestWorkTemplates'>): boolean =>
  (spec.manifestWorkTemplates?.length ?? 0) > 0;

/**
 * True for an upgrade that only pre-caches: it names neither policies nor ManifestWorks. The reference calls its clusters
 * compliant and pulls nothing; we pull what its PreCachingConfig names onto all of them, so that a plain Kubernetes hub
 * without the policy framework can pre-cache too. With `talmStrict` it is as in the reference.
 */
const isPrecacheOnly = ({ spec, talmStrict }: Omit<WorkInput, 'examination'>): boolean =>
  spec.preCaching && !talmStrict && !isManifestWorkMode(spec) && (spec.managedPolicies?.length ?? 0) === 0;

/**
 * The test that `planBatches` asks of each cluster (spec/talm 2.7). ManifestWork mode: none is compliant. Policies: a
 * cluster is compliant when it is done with each policy for upgrade, or is known to have nothing to do there. Neither: all are
 * compliant, except where `isPrecacheOnly`.
 */
export function createComplianceTest(input: WorkInput): (cluster: string) => boolean {
  if (isManifestWorkMode(input.spec) || isPrecacheOnly(input)) return () => false;
  const { forUpgrade } = input.examination;
  return (cluster) => forUpgrade.every(({ look }) => isSettled(look(cluster)));
}
