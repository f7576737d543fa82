import type { ClusterGroupUpgradeSpec, LabelSelector, ManagedCluster } from '@flotilla/api';
import { quote } from './go-format.ts';

type Labels = Readonly<Record<string, string>>;
type Matcher = (labels: Labels) => boolean;

/** Why no cluster list could be made; `reason` and `message` are those of condition ClustersSelected. */
export interface SelectionFailure {
  readonly reason: 'ClusterNotFound';
  readonly message: string;
  /** Explicit names without a ManagedCluster, all of them. */
  readonly missing?: readonly string[];
}
export type ClusterSelection = { readonly clusters: string[]; readonly failure?: undefined } | { readonly failure: SelectionFailure };

/** What selection reads of the spec. */
export type SelectionSpec = Pick<ClusterGroupUpgradeSpec, 'clusters' | 'clusterSelector' | 'clusterLabelSelectors'> & {
  readonly remediationStrategy?: { readonly canaries?: readonly string[] | undefined } | undefined;
};

/**
 * The clusters of an upgrade (spec/talm 2.5): explicit ones in spec order, then those that match any selector, sorted;
 * none twice. Unlike the reference, a selector with an unknown operator or a wrong number of values is refused with the
 * field, the value and the fix, instead of selecting something else than was meant.
 */
export function selectClusters(spec: SelectionSpec, managed: Iterable<ManagedCluster>): ClusterSelection {
  if (!spec.clusters && !spec.clusterSelector && !spec.clusterLabelSelectors) return unobtainable('no cluster specified for remediation');
  const known = new Map([...managed].map((cluster) => [cluster.metadata.name, cluster.metadata.labels ?? {}]));

  const matchers: Matcher[] = (spec.clusterSelector ?? []).flatMap((entry) => compileEntry(entry) ?? []);
  for (const [index, selector] of (spec.clusterLabelSelectors ?? []).entries()) {
    const compiled = compileSelector(selector, `spec.clusterLabelSelectors[${index}]`);
    if ('problem' in compiled) return unobtainable(compiled.problem);
    matchers.push(compiled.matches);
  }

  const explicit = [...new Set(spec.clusters)];
  const missing = explicit.filter((name) => !known.has(name));
  if (missing.length > 0) return failure(`cluster ${missing[0]} is not a ManagedCluster`, missing);
  const selected = [...known].filter(([, labels]) => matchers.some((matches) => matches(labels))).map(([name]) => name);
  const clusters = [...new Set([...explicit, ...selected.toSorted()])];

  const chosen = new Set(clusters);
  const stray = spec.remediationStrategy?.canaries?.find((canary) => !chosen.has(canary));
  return stray === undefined ? { clusters } : failure(`canary cluster ${stray} is not in the list of clusters`);
}

const unobtainable = (why: string): ClusterSelection => failure(`cannot obtain all the details about the clusters in the CR: ${why}`);

const failure = (why: string, missing?: readonly string[]): ClusterSelection => ({
  failure: { reason: 'ClusterNotFound', message: `Unable to select clusters: ${why}`, ...(missing && { missing }) },
});

/** Deprecated form: `key=value`, or `key` for an empty value; an entry with more than one `=` selects nothing. */
function compileEntry(entry: string): Matcher | undefined {
  const [key = '', value = '', ...rest] = entry.split('=');
  return rest.length > 0 ? undefined : (labels) => label(labels, key) === value;
}

function compileSelector(selector: LabelSelector, path: string): { readonly matches: Matcher } | { readonly problem: string } {
  const matchers: Matcher[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) =>
      (labels) =>
        label(labels, key) === value,
  );
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    const build = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    if (!build) return { problem: `${at}.operator ${quote(operator)} is not known; use In, NotIn, Exists or DoesNotExist` };
    const wantsValues = operator === 'In' || operator === 'NotIn';
    if (wantsValues && values.length === 0) return { problem: `${at}.values is empty; give operator ${operator} at least one value` };
    if (!wantsValues && values.length > 0)
      return { problem: `${at}.values has ${quote(values[0] ?? '')}; operator ${operator} takes no values, remove them` };
    matchers.push(build(key, new Set(values)));
  }
  return { matches: (labels) => matchers.every((matches) => matches(labels)) };
}

/** metav1 semantics: NotIn also holds for a cluster without the label. */
const operators: Readonly<Record<string, (key: string, values: ReadonlySet<string>) => Matcher>> = {
  In: (key, values) => (labels) => values.has(label(labels, key) ?? '') && label(labels, key) !== undefined,
  NotIn: (key, values) => (labels) => {
    const value = label(labels, key);
    return value === undefined || !values.has(value);
  },
  Exists: (key) => (labels) => label(labels, key) !== undefined,
  DoesNotExist: (key) => (labels) => label(labels, key) === undefined,
};

/** Own labels only, so that a selector on `constructor` or `toString` does not match what every object inherits. */
const label = (labels: Labels, key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
