/** Caps of pullers that the hub hands out, as they are written on the hub. Pure. */
import type { KubeObject } from '@flotilla/api';
import type { ManifestWork } from '@flotilla/api/ocm';
import { BANDWIDTH_KEY, SpokeName } from '@flotilla/api/ran';

/** Annotation of the work, or of the action for the ConfigMap: bytes a second, and in a work the time since when. */
const CAP = 'flotilla.io/cap';

/** A cap that was written. */
export interface WrittenCap {
  /** Undefined: the pull began without one. */
  readonly bytesPerSecond: number | undefined;
  /** Milliseconds since the epoch; infinite where it stays as it is. */
  readonly at: number;
}

/** Marks the object that carries a cap. @param now milliseconds since the epoch; absent where the cap stays as it is */
export const capMark = (bytesPerSecond: number | undefined, now?: number): Record<string, string> =>
  bytesPerSecond === undefined ? {} : { [CAP]: `${bytesPerSecond}${now === undefined ? '' : ` ${new Date(now).toISOString()}`}` };

/** Takes a mark away by a merge patch, unless it has another. */
export const NO_CAP_MARK = { [CAP]: null };

/** Reads the mark of an object. */
export function capOf({ metadata }: Pick<KubeObject, 'metadata'>): WrittenCap | undefined {
  const [bytes, since] = metadata.annotations?.[CAP]?.split(' ') ?? [];
  if (bytes === undefined) return undefined;
  return { bytesPerSecond: Number(bytes), at: since === undefined ? Number.POSITIVE_INFINITY : Date.parse(since) || 0 };
}

/**
 * Builds the JSON patch that changes the cap in the ConfigMap of a work, and nothing else of it; undefined where its agent has not said which of the
 * manifests that is. The tests keep it from another object, whatever the agent says.
 */
export function capPatch({ metadata, status }: ManifestWork, bytesPerSecond: number | undefined, now: number): object[] | undefined {
  const { ordinal } =
    status?.resourceStatus?.manifests?.find(({ resourceMeta: { kind, name } }) => kind === 'ConfigMap' && name === SpokeName.specConfigMap)
      ?.resourceMeta ?? {};
  if (ordinal === undefined) return undefined;
  const manifest = `/spec/workload/manifests/${ordinal}`;
  const mark = `/metadata/annotations/${CAP.replace('/', '~1')}`;
  const key = `${manifest}/data/${BANDWIDTH_KEY}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: `${manifest}/metadata/name`, value: SpokeName.specConfigMap },
    ...(bytesPerSecond === undefined
      ? [mark, key].map((path) => ({ op: 'remove', path }))
      : [
          { op: 'add', path: mark, value: capMark(bytesPerSecond, now)[CAP] },
          { op: 'add', path: key, value: String(bytesPerSecond) },
        ]),
  ];
}
