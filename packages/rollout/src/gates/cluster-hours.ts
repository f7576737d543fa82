/** Hours of a cluster: windows of its own on its ManagedCluster, outside which no rollout begins its part. Pure. */
import type { ObjectMeta } from '@flotilla/api';
import { describeUnknown, WINDOW_KEYS } from '../upgrade/annotations.ts';
import type { Wait } from '../waits/wait.ts';
import { judgeWindow, type Window } from './window.ts';

/** A ManagedCluster, as far as its hours go. */
interface WithHours {
  readonly metadata: Pick<ObjectMeta, 'name' | 'annotations'>;
}

const KEYS: readonly string[] = [WINDOW_KEYS.schedule, ...Object.values(WINDOW_KEYS)];
/** Keys of windows begin like this. */
const PREFIX = WINDOW_KEYS.start.replace('-start', '');

/** The annotation that shows the hours of a cluster; undefined where it has none. */
const hoursKey = ({ metadata: { annotations } }: WithHours): string | undefined =>
  annotations && (strayKey(annotations) ?? KEYS.find((key) => annotations[key] !== undefined));

/** A misspelt one: silence would let the cluster begin at any hour. */
const strayKey = (annotations: Readonly<Record<string, string>>): string | undefined =>
  Object.keys(annotations).find((key) => key.startsWith(PREFIX) && !KEYS.includes(key));

/** The hours of a cluster now; those with a misspelt annotation cannot be read. */
function judgeHours(cluster: WithHours, now: number): Window {
  const { name, annotations = {} } = cluster.metadata;
  const stray = strayKey(annotations);
  const problem = stray && describeUnknown({ annotations: { [stray]: '' } }, Object.values(WINDOW_KEYS), ` on ManagedCluster ${name}`);
  return problem === undefined ? judgeWindow(cluster, now, ` of ManagedCluster ${name}`) : { kind: 'invalid', message: problem };
}

/** The annotations of the hours of a cluster, which others may have alike. */
export const hoursOf = ({ metadata: { annotations = {} } }: WithHours): [string, string][] =>
  Object.entries(annotations)
    .filter(([key]) => key.startsWith(PREFIX))
    .toSorted(([a], [b]) => a.localeCompare(b));

/** Says why the part of a cluster does not begin now; undefined within its hours, and where it has none. @param now epoch milliseconds */
export function findClosedHours(cluster: WithHours | undefined, now: number): Wait | undefined {
  if (!cluster) return undefined;
  const key = hoursKey(cluster);
  if (key === undefined) return undefined;
  const { name, annotations } = cluster.metadata;
  const window = judgeHours(cluster, now);
  if (window.kind === 'open') return undefined;
  const wait: Wait = {
    cause: 'cluster-hours',
    says: window.message,
    of: { object: `ManagedCluster ${name}`, field: `metadata.annotations[${key}]`, value: annotations?.[key] ?? '' },
  };
  if (window.kind === 'closed' && window.opensAt !== undefined) return { ...wait, until: window.opensAt };
  const what = window.kind === 'invalid' ? 'correct or remove' : 'move or remove';
  return { ...wait, fix: `${what} the annotations flotilla.io/window-* of ManagedCluster ${name}` };
}

/** Openings of two windows that are compared at most: of those that recur, these are months. */
const MOST_OPENINGS = 100;

/**
 * The first time from `now` on (epoch milliseconds) at which the windows of an upgrade and the hours of a cluster are both open. Undefined where there is
 * none among the next hundred openings, or where either cannot be read.
 */
export function firstCommonHour(upgrade: { readonly metadata: ObjectMeta }, cluster: WithHours, now: number): number | undefined {
  if (hoursKey(cluster) === undefined) return now;
  let at = now;
  for (let opening = 0; opening < MOST_OPENINGS; opening++) {
    const shut = [judgeWindow(upgrade, at), judgeHours(cluster, at)].find(({ kind }) => kind !== 'open');
    if (shut === undefined) return at;
    if (shut.kind !== 'closed' || shut.opensAt === undefined) return undefined;
    at = shut.opensAt;
  }
  return undefined;
}
