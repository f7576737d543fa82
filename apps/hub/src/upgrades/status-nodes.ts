/** Sums the nodes of all clusters of an upgrade. Bounded: counts, the slowest and some that failed. Pure. */
import { MAX_FAILED_NODES, type NodesProgress, type PrecacheNodes } from '@flotilla/api/ran';

/** Sums the nodes of clusters; undefined where no cluster has more than one. */
export function sumNodes(
  clusters: readonly string[],
  spokes: ReadonlyMap<string, { readonly nodes?: NodesProgress | undefined }>,
): PrecacheNodes | undefined {
  const known = clusters.flatMap((cluster) => {
    const nodes = spokes.get(cluster)?.nodes;
    return nodes ? [{ cluster, nodes }] : [];
  });
  if (known.length === 0) return undefined;
  const count = (field: 'total' | 'done' | 'failed' | 'absent'): number => known.reduce((sum, { nodes }) => sum + nodes[field], 0);
  const slow = known.flatMap(({ cluster, nodes: { slowest } }) => (slowest ? [{ cluster, ...slowest }] : []));
  const slowest = slow.reduce<(typeof slow)[number] | undefined>(
    (most, each) => (most && left(most) >= left(each) ? most : each),
    undefined,
  );
  const problems = known.flatMap(({ cluster, nodes }) => (nodes.problems ?? []).map((problem) => ({ cluster, ...problem })));
  return {
    total: count('total'),
    done: count('done'),
    failed: count('failed'),
    absent: count('absent'),
    ...(slowest && { slowest }),
    ...(problems.length > 0 && { problems: problems.slice(0, MAX_FAILED_NODES) }),
  };
}

const left = ({ bytesDone, bytesTotal }: { readonly bytesDone: number; readonly bytesTotal: number }): number => bytesTotal - bytesDone;
