/** Edits of a ManagedCluster's labels and annotations (spec/talm 2.9). Pure. */
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { ClusterEdits } from '../upgrade/model.ts';
import { NAME_LABEL } from './managed-cluster.ts';

type Texts = Readonly<Record<string, string>>;

/** Options of edits: a label that the hub adds, and labels that no edit may touch. */
export interface EditOptions {
  /** Give it the label `name`, by which Placements select, where it has none; default false. */
  readonly nameLabel?: boolean;
  /** Labels that no edit may touch; see `decidingLabels`. */
  readonly decidingLabels?: ReadonlySet<string> | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/** JSON merge patch that makes the edits true, bound to this very object; undefined when they are. */
export function clusterPatch(
  cluster: ManagedCluster,
  edits: ClusterEdits | undefined,
  { nameLabel = false, decidingLabels = NONE }: EditOptions = {},
): { readonly metadata: Readonly<Record<string, unknown>> } | undefined {
  const { name, uid } = cluster.metadata;
  const allowed = (step: Step): Step => Object.fromEntries(Object.entries(step).filter(([key]) => !decidingLabels.has(key)));
  const labels = changes(cluster.metadata.labels ?? {}, [
    // First: what the user says about this label counts.
    nameLabel && cluster.metadata.labels?.[NAME_LABEL] === undefined ? { [NAME_LABEL]: name } : {},
    allowed(edits?.addClusterLabels ?? {}),
    allowed(removals(Object.keys(edits?.deleteClusterLabels ?? {}))),
    allowed(removals(edits?.removeClusterLabels ?? [])),
  ]);
  const annotations = changes(cluster.metadata.annotations ?? {}, [
    edits?.addClusterAnnotations ?? {},
    removals(edits?.removeClusterAnnotations ?? []),
  ]);
  if (!labels && !annotations) return undefined;
  return { metadata: { ...(uid !== undefined && { uid }), ...(labels && { labels }), ...(annotations && { annotations }) } };
}

/** True when the edits are seen on the cluster. */
export const areEditsApplied = (cluster: ManagedCluster, edits: ClusterEdits | undefined, options?: EditOptions): boolean =>
  clusterPatch(cluster, edits, options) === undefined;

type Step = Readonly<Record<string, string | null>>;

const removals = (keys: readonly string[]): Step => Object.fromEntries(keys.map((key) => [key, null]));

/** Changes left after all steps, of which a later one wins. Protected keys are skipped: the spec may have been edited since it was found valid. */
function changes(current: Texts, steps: readonly Step[]): Step | undefined {
  const wanted = new Map(steps.flatMap((step) => Object.entries(step)).filter(([key]) => !isProtected(key)));
  const left = [...wanted].filter(([key, value]) => (Object.hasOwn(current, key) ? current[key] : null) !== value);
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

const isKey = (key: string): boolean => {
  const slash = key.indexOf('/');
  const [prefix, name] = slash < 0 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)];
  return name.length <= 63 && NAME.test(name) && (prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix)));
};

const isLabelValue = (value: string): boolean => value === '' || (value.length <= 63 && NAME.test(value));

/**
 * Keys with these prefixes say what is mounted on nodes and who may reach a cluster; who may create an upgrade may not set them by it,
 * whatever the reference allows.
 */
const isProtected = (key: string): boolean => /^((pins\.)?flotilla\.io|([-a-z0-9]+\.)*open-cluster-management\.io)\//.test(key);

/** Every key that some edits touch, with the field it is in. */
const touchedKeys = (edits: ClusterEdits | undefined): (readonly [field: string, key: string])[] =>
  Object.entries({
    addClusterLabels: Object.keys(edits?.addClusterLabels ?? {}),
    deleteClusterLabels: Object.keys(edits?.deleteClusterLabels ?? {}),
    removeClusterLabels: edits?.removeClusterLabels ?? [],
    addClusterAnnotations: Object.keys(edits?.addClusterAnnotations ?? {}),
    removeClusterAnnotations: edits?.removeClusterAnnotations ?? [],
  }).flatMap(([field, keys]) => keys.map((key) => [field, key] as const));

/**
 * Finds a key or value in some edits that an API server would refuse, or that they may not touch; undefined when there is none.
 * Names field, value and fix.
 * @param at path of the edits, such as `spec.actions.beforeEnable`
 * @param deciding labels that no edit may touch; see `decidingLabels`
 */
export function findEditProblem(edits: ClusterEdits | undefined, at: string, deciding = NONE): string | undefined {
  for (const [field, key] of touchedKeys(edits))
    if (isProtected(key))
      return `${at}.${field}: key ${JSON.stringify(key)} may not be edited by an upgrade, as no key under flotilla.io/ and open-cluster-management.io/ may; remove it here, and set it on the ManagedCluster with the rights for that`;
  for (const [field, key] of touchedKeys(edits))
    if (field.endsWith('Labels') && deciding.has(key))
      return `${at}.${field}: label ${JSON.stringify(key)} may not be edited by an upgrade: a ManagedClusterSet that is bound to a namespace chooses its clusters by it; remove it here, and have it set on the ManagedCluster by whoever gives clusters to namespaces`;
  // A key to be removed may be anything: what cannot be there need not be removed.
  const keys: [string, Texts | undefined][] = [
    ['addClusterLabels', edits?.addClusterLabels],
    ['addClusterAnnotations', edits?.addClusterAnnotations],
  ];
  for (const [field, map] of keys)
    for (const key of Object.keys(map ?? {}))
      if (!isKey(key))
        return `${at}.${field}: key ${JSON.stringify(key)} cannot be used; give at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, optionally after a DNS name and "/"`;
  for (const [key, value] of Object.entries(edits?.addClusterLabels ?? {}))
    if (!isLabelValue(value))
      return `${at}.addClusterLabels: value ${JSON.stringify(value)} of ${key} cannot be used; give at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`;
  return undefined;
}
