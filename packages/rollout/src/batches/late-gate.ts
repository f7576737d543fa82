/** Why a batch of clusters that came after the start does not start: their images are pulled, or their first edits are made. Pure. */
import type { Refusal } from '../gates/gates.ts';
import type { RolloutObservation } from '../upgrade/model.ts';
import type { ClustersUnderWay } from './clusters-under-way.ts';

/** Judges the batch that comes next. An edit that the server refuses holds no other cluster up. */
export function judgeLate(clusters: ClustersUnderWay, { exists, isPrepared, problem }: RolloutObservation): Refusal | undefined {
  const open = clusters.current.filter((cluster) => clusters.late.has(cluster) && !clusters.isRecorded(cluster) && exists(cluster));
  const pulling = open.filter((cluster) => clusters.pulling.has(cluster));
  if (pulling.length > 0)
    return refuse('precaching', clusters, `${pulling.length} of ${clusters.current.length} clusters pull their images`);
  const isUnedited = (cluster: string) => !isPrepared(cluster) && problem(cluster)?.isRefused !== true;
  const unedited = open.filter(isUnedited);
  if (unedited.length > 0)
    return {
      ...refuse('preparation', clusters, `${unedited.length} of ${clusters.current.length} clusters get their first edits`),
      wait: { cause: 'edits', says: `clusters that came after the start get their first edits, as ${unedited[0]}` },
    };
  return undefined;
}

const refuse = (gate: Refusal['gate'], { batch }: ClustersUnderWay, why: string): Refusal => ({
  gate,
  progressing: { status: 'True', reason: 'InProgress', message: `Batch ${batch} waits: ${why}` },
});
