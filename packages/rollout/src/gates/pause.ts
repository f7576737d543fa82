/** Pauses of an upgrade and holds of a cluster, which people set by annotations. Pure. */
import { Annotation, type ObjectMeta, refKey } from '@flotilla/api';
import { type ConditionReason, cutAtWord, explain } from '@flotilla/api/ran';
import { type Wait, waitBy } from '../waits/wait.ts';

/** Why nothing new begins, as a condition says it. */
export interface Pause {
  readonly reason: Extract<ConditionReason, 'Paused' | 'InvalidPause'>;
  readonly message: string;
  /** The same for a place that says beside it that there is a pause, and how it ends. */
  readonly why: string;
  /** Pulls that run end too, and policies are enforced no more; default: what runs ends by itself. */
  readonly stops: boolean;
}

type Annotated = { readonly metadata: Pick<ObjectMeta, 'annotations'> };

/** The pause of an upgrade. A value that is not known pauses too: a newer hub's or a misspelt one must not be overlooked. */
export function findPause({ metadata: { annotations = {} } }: Annotated): Pause | undefined {
  const value = annotations[Annotation.paused];
  if (value === undefined) return undefined;
  if (value !== 'drain' && value !== 'stop') {
    const problem = `Annotation ${Annotation.paused} is ${JSON.stringify(cutAtWord(value))}, which is not known`;
    return { reason: 'InvalidPause', message: explain('InvalidPause', problem), why: problem, stops: false };
  }
  const given = annotations[Annotation.pausedReason]?.trim();
  const reason = given ? cutAtWord(given) : undefined;
  const stops = value === 'stop';
  const says = stops ? 'Paused, and pulls are stopped' : 'Paused';
  return {
    reason: 'Paused',
    message: explain('Paused', reason ? `${says}: ${reason}` : says),
    why: [...(stops ? ['pulls are stopped'] : []), ...(reason ? [reason] : [])].join(': ') || 'no reason is given',
    stops,
  };
}

/** The wait for the end of a pause. */
export function pauseWait({ metadata }: { readonly metadata: ObjectMeta }, { reason, message }: Pause): Wait {
  const { name, namespace, annotations } = metadata;
  return {
    ...waitBy('paused', reason, message),
    fix: `remove the annotation ${Annotation.paused} from the ClusterGroupUpgrade (flotilla resume ${name} -n ${namespace})`,
    of: {
      object: `ClusterGroupUpgrade ${refKey(metadata)}`,
      field: `metadata.annotations[${Annotation.paused}]`,
      value: annotations?.[Annotation.paused] ?? '',
    },
  };
}

/** Why nothing is begun on a cluster; undefined when nobody holds it. */
export function findHold(cluster: (Annotated & { readonly metadata: Pick<ObjectMeta, 'name'> }) | undefined): Wait | undefined {
  const why = cluster?.metadata.annotations?.[Annotation.hold];
  if (cluster === undefined || why === undefined) return undefined;
  const { name } = cluster.metadata;
  const says = why.trim() === '' ? 'held' : `held: ${cutAtWord(why.trim())}`;
  const of = { object: `ManagedCluster ${name}`, field: `metadata.annotations[${Annotation.hold}]`, value: why };
  const fix = `remove the annotation ${Annotation.hold} from ManagedCluster ${name} (flotilla unhold ${name})`;
  return { cause: 'held', says, fix, of };
}
