import type { StatusAnswer } from '@flotilla/api/answers';

/** A number with its noun. */
export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

/** Clusters of an upgrade that are not at their end. */
export const openClusters = ({ clusters }: Pick<StatusAnswer, 'clusters'>): number => clusters.inBatch + clusters.left;

/** Sentences on a pause of an upgrade as it is now. @param now pulls are stopped and policies not enforced, else what runs ends by itself */
export function pauseEffects({ clusters, cached, batch }: Pick<StatusAnswer, 'clusters' | 'cached' | 'batch'>, now: boolean): string[] {
  const inBatch = count(clusters.inBatch, 'cluster', 'clusters');
  const pulls = cached?.pulling ?? 0;
  const unbegun = cached ? cached.of - cached.done - cached.failed - cached.pulling : 0;
  return [
    ...(clusters.inBatch > 0 ? [`${inBatch} in batch ${batch.current} ${now ? IN_BATCH_NOW : 'go on to their end'}`] : []),
    ...(pulls > 0 && now
      ? [`${count(pulls, 'pull is', 'pulls are')} stopped, and ${pulls === 1 ? 'begins' : 'begin'} again after resume`]
      : []),
    ...(pulls > 0 && !now ? [`${count(pulls, 'pull ends', 'pulls end')} by themselves`] : []),
    ...(unbegun > 0 ? [`${count(unbegun, 'pull is', 'pulls are')} not begun`] : []),
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster is', 'clusters are')} not begun`] : []),
    'time-outs stand still, windows do not',
  ];
}

/** A work that is taken away would be undone on its cluster. */
const IN_BATCH_NOW = 'cannot be stopped where they upgrade already: policies are not enforced on them meanwhile, ManifestWorks stay';

/** Sentences on the end of a pause. */
export function resumeEffects({ clusters, window }: Pick<StatusAnswer, 'clusters' | 'window'>): string[] {
  return [
    ...(clusters.left > 0 ? [`${count(clusters.left, 'cluster', 'clusters')} may begin as their batches come`] : []),
    'time-outs go on where they stood',
    ...(window.state === 'closed' ? [`the window is closed: ${window.says ?? 'no batch starts'}`] : []),
  ];
}
