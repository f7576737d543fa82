/** The managed upgrade of a spoke, as far as objects of the hub show it. Pure. */
import type { ManifestWork } from '@flotilla/api/ocm';
import { isGeneration } from '../works/work-generations.ts';

/** One value that the work reports of an UpgradeConfig, a ClusterVersion or the Plan of a system upgrade controller. */
interface ManagedLine {
  readonly kind: string;
  readonly says: string;
  readonly field: string;
  readonly value: string;
}

/** From what is wanted to what it waits for. */
const KINDS = ['UpgradeConfig', 'ClusterVersion', 'ClusterOperator', 'Plan'];
/** Kinds of which a cluster has several. */
const NAMED_KINDS = new Set(['Plan']);
/** Values of one work that are shown. */
const MOST_LINES = 6;

/** Status feedback of the work on the managed upgrade that it carries; empty where it carries none. */
export function managedUpgradeOf({ status }: ManifestWork): ManagedLine[] {
  const place = ({ resourceMeta }: { readonly resourceMeta: { readonly kind?: string | undefined } }) =>
    KINDS.indexOf(resourceMeta.kind ?? '');
  const manifests = (status?.resourceStatus?.manifests ?? []).filter((manifest) => place(manifest) >= 0);
  return manifests
    .toSorted((a, b) => place(a) - place(b))
    .flatMap(({ resourceMeta: { kind = '', name: object, ordinal }, statusFeedback }) =>
      (statusFeedback?.values ?? []).flatMap(({ name, fieldValue }) => {
        if (isGeneration(name)) return [];
        const value = String(fieldValue.string ?? fieldValue.integer ?? fieldValue.boolean ?? fieldValue.jsonRaw ?? '');
        if (value === '' && NAMED_KINDS.has(kind)) return [];
        const field = `status.resourceStatus.manifests[${ordinal}].statusFeedback.values[${name}]`;
        const whose = NAMED_KINDS.has(kind) ? `${kind} ${object}` : kind;
        return [{ kind, says: `${whose} ${name}: ${value}`, field, value }];
      }),
    )
    .slice(0, MOST_LINES);
}

/** As version operators and policies name operators in a sentence: "waiting on etcd, network", "Cluster operator etcd is degraded". */
const NAMES = `([a-z][a-z0-9-]{1,62}(?:(?:,| and|, and) [a-z][a-z0-9-]{1,62})*)`;
const NAMED = [
  new RegExp(String.raw`\b[Cc]luster [Oo]perators? ${NAMES} (?:is|are|has|have|does|do)\b`, 'u'),
  new RegExp(String.raw`\bClusterOperator[ /]"?${NAMES}`, 'u'),
  new RegExp(String.raw`\bwaiting (?:up to \d{1,6} minutes )?on ${NAMES}(?=$|[.,:;)]| )`, 'u'),
  new RegExp(String.raw`\bfor these operators: ${NAMES}`, 'u'),
];
/** Words that follow "waiting on" and name no operator. */
const NO_NAMES = new Set(['the', 'a', 'an', 'its', 'all', 'cluster', 'operators', 'operator', 'node', 'nodes', 'upgrade', 'is', 'to']);
/** A sentence without these words waits for something other than ClusterOperators. */
const IS_ABOUT = /cluster ?(?:operator|version)/iu;
/** Operators of one sentence that are named. */
const MOST_OPERATORS = 3;

/** ClusterOperators that a sentence says are waited for. @param isVersions it is that of a ClusterVersion */
export function operatorsNamed(sentence: string, isVersions = IS_ABOUT.test(sentence)): string[] {
  if (!isVersions) return [];
  const found = NAMED.map((pattern) => pattern.exec(sentence)?.[1]).find((names) => names !== undefined);
  const names = (found ?? '').split(/,? and |, ?/u).filter((name) => name !== '');
  return names.some((name) => NO_NAMES.has(name)) ? [] : names.slice(0, MOST_OPERATORS);
}
