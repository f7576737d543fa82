/** What happens to a kind of job's spokes, as the watches of the hub tell it. */
import { type KubeObject, Label } from '@flotilla/api';
import type { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { PullerReport } from '@flotilla/api/ran';
import { readAnswer } from './actions/observe.ts';
import type { SpokeJobCaches } from './port/caches.ts';
import { reportOf } from './port/report.ts';
import type { SpokeJobNames } from './port/workload.ts';
import { readWorkReport } from './work/observe.ts';

/** Something that happened on one spoke of one upgrade. */
export type SpokeChange = { readonly upgradeUid: string; readonly cluster: string } & (
  | { readonly kind: 'gone' | 'news' | 'done' | 'begun' }
  | { readonly kind: 'progress'; readonly report: PullerReport }
);

/** `gone`: an object of the hub; `news`: of what is looked at; `done`: what was asked for, or refused; `begun`: the job is there. */
type Told = { readonly kind: 'gone' | 'news' | 'done' | 'begun' } | { readonly kind: 'progress'; readonly report: PullerReport };

/** Tells the listener of every change from now on. */
export function onSpokeChanges(
  { views, actions, jobWorks }: SpokeJobCaches,
  { work, names }: { readonly work: string; readonly names: SpokeJobNames },
  listener: (change: SpokeChange) => void,
): void {
  const tell = ({ metadata }: KubeObject, changes: readonly Told[]): void => {
    if (metadata.labels?.[Label.work] !== work) return;
    const where = { upgradeUid: metadata.labels[Label.upgradeUid] ?? '', cluster: metadata.namespace ?? '' };
    for (const change of changes) listener({ ...where, ...change });
  };
  const decisive: ReadonlySet<string> = new Set(Object.values(names.actions));
  views.subscribe(({ type, object }) => tell(object, type === 'deleted' ? GONE : ofView(object, names)));
  actions.subscribe(({ type, object }) => tell(object, type === 'deleted' ? GONE : ofAction(object, names, decisive)));
  jobWorks.subscribe(({ type, object }) => tell(object, type === 'deleted' ? GONE : ofWork(object, names)));
}

const GONE: readonly Told[] = [{ kind: 'gone' }];
const NEWS: readonly Told[] = [{ kind: 'news' }];

const progressOf = (report: PullerReport | undefined): readonly Told[] => (report ? [{ kind: 'progress', report }] : []);

function ofView(view: ManagedClusterView, { views: { job } }: SpokeJobNames): readonly Told[] {
  if (!view.status?.conditions) return [];
  return view.metadata.name === job.name ? [...progressOf(reportOf(readAnswer(view, job.target))), ...NEWS] : NEWS;
}

/** Actions whose end moves a spoke on are told; the end of the others is seen when these end. */
function ofAction(action: ManagedClusterAction, { actions: { createJob } }: SpokeJobNames, decisive: ReadonlySet<string>): readonly Told[] {
  const condition = action.status?.conditions?.[0];
  if (!condition || (condition.status !== 'False' && !decisive.has(action.metadata.name))) return [];
  return [{ kind: condition.status === 'True' && action.metadata.name === createJob ? 'begun' : 'done' }];
}

const ofWork = (work: ManifestWork, names: SpokeJobNames): readonly Told[] => [...progressOf(readWorkReport(work, names)), ...NEWS];
