/** Progress by ManifestWorks: a cluster is through with a template when its work is complete (spec/talm 2.12). Pure. */
import type { ManifestWork } from '@flotilla/api/ocm';
import type { RolloutMode } from '../upgrade/model.ts';
import { judgeWork, trimWorkStatus, type WorkSight, type WorkVerdict } from './manifest-works.ts';

/**
 * The templates of a running rollout, in order.
 * @param work the ManifestWork of a template on a cluster, if this upgrade's is there and stays
 */
export function manifestWorkMode(
  templates: readonly string[],
  work: (cluster: string, template: string) => ManifestWork | undefined,
  sight: WorkSight,
): RolloutMode {
  const at = (cluster: string, index: number): ManifestWork | undefined => work(cluster, templates[index] ?? '');
  const judge = (cluster: string, index: number): WorkVerdict | undefined => {
    const found = at(cluster, index);
    return found && judgeWork(found, sight);
  };
  return {
    kind: 'manifestWork',
    count: templates.length,
    name: (index) => templates[index] ?? '',
    standing: (cluster, index) => (judge(cluster, index)?.complete ? 'done' : 'pending'),
    doneAt: (cluster, index) => {
      const verdict = judge(cluster, index);
      return verdict?.complete === false ? verdict.countsAt : undefined;
    },
    soakSeconds: () => 0,
    detail: (cluster, index) => {
      const found = at(cluster, index);
      return { currentManifestWork: { name: templates[index] ?? '', ...(found && { status: trimWorkStatus(found) }) } };
    },
  };
}
