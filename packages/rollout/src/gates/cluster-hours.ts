/** Hours of a cluster: windows of its own on its ManagedCluster, outside which no rollout begins its part. Pure. */
import type { ObjectMeta } from '@flotilla/api';
import { WINDOW_KEYS } from '../upgrade/annotations.ts';
import type { Wait } from '../waits/wait.ts';
import { judgeWindow } from './window.ts';

/** A ManagedCluster, as far as its hours go. */
interface WithHours {
  readonly metadata: Pick<ObjectMeta, 'name' | 'annotations'>;
}

const KEYS = [WINDOW_KEYS.schedule, ...Object.values(WINDOW_KEYS)];

/** The annotation that shows the hours of a cluster; undefined where it has none. */
const hoursKey = ({ metadata: { annotations } }: WithHours): string | undefined =>
  annotations && KEYS.find((key) => annotations[key] !== undefined);

/** Says why the part of a cluster does not begin now; undefined within its hours, and where it has none. @param now epoch milliseconds */
export function findClosedHours(cluster: WithHours | undefined, now: number): Wait | undefined {
  if (!cluster) return undefined;
  const key = hoursKey(cluster);
  if (key === undefined) return undefined;
  const { name, annotations } = cluster.metadata;
  const window = judgeWindow(cluster, now, ` of ManagedCluster ${name}`);
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
    const shut = [judgeWindow(upgrade, at), judgeWindow(cluster, at)].find(({ kind }) => kind !== 'open');
    if (shut === undefined) return at;
    if (shut.kind !== 'closed' || shut.opensAt === undefined) return undefined;
    at = shut.opensAt;
  }
  return undefined;
}
