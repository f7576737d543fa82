import type { StatusAnswer } from '@flotilla/api/answers';

/** A number with its noun. */
export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

/** Clusters of an upgrade that are not at their end. */
export const openClusters = ({ clusters }: Pick<StatusAnswer, 'clusters'>): number => clusters.inBatch + clusters.left;

/** Sentences on a pause of an upgrade as it is now. */
export function pauseEffects({ clusters, cached, batch }: Pick<StatusAnswer, 'clusters' | 'cached' | 'batch'>): string[] {
  const unbegun = cached ? cached.of - cached.done - cached.failed - cached.pulling : 0;
  return [
    ...(clusters.inBatch > 0 ? [`${count(clusters.inBatch, 'cluster', 'clusters')} in batch ${batch.current} go on to their end`] : []),
    ...(cached && cached.pulling > 0 ? [`${count(cached.pulling, 'pull ends', 'pulls end')} by themselves`] : []),
    ...(unbegun > 0 ? [`${count(unbegun, 'pull is', 'pulls are')} not begun`] : []),
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster is', 'clusters are')} not begun`] : []),
    'time-outs stand still, windows do not',
  ];
}

/** Sentences on the end of a pause. */
export function resumeEffects({ clusters, window }: Pick<StatusAnswer, 'clusters' | 'window'>): string[] {
  return [
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster', 'clusters')} may begin as their batches come`] : []),
    'time-outs go on where they stood',
    ...(window.state === 'closed' ? [`the window is closed: ${window.says ?? 'no batch starts'}`] : []),
  ];
}
