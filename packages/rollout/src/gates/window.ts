/** The window in which batches may start, from two annotations of the upgrade. Pure. */
import { Annotation } from '@flotilla/api';
import { type ClusterGroupUpgrade, explain } from '@flotilla/api/ran';
import { z } from 'zod';

/** The window now. `closed` names the time and the annotation; `opensAt` (epoch milliseconds) only when it is yet to open. */
export type Window =
  | { readonly kind: 'open'; readonly closesAt?: number | undefined }
  | { readonly kind: 'closed'; readonly message: string; readonly opensAt?: number | undefined }
  | { readonly kind: 'invalid'; readonly message: string };

const Time = z.iso.datetime({ offset: true });

/** Judges the window at `now` (epoch milliseconds): open from its start on, closed from its end on; either may be left out. */
export function judgeWindow({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>, now: number): Window {
  const [start, end] = [metadata.annotations?.[Annotation.windowStart], metadata.annotations?.[Annotation.windowEnd]];
  const malformed = findMalformed([
    [Annotation.windowStart, start],
    [Annotation.windowEnd, end],
  ]);
  if (malformed) return { kind: 'invalid', message: malformed };
  const opensAt = start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(start);
  const closesAt = end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end);
  if (closesAt <= opensAt)
    return {
      kind: 'invalid',
      message: explain(
        'InvalidWindow',
        `Annotation ${Annotation.windowEnd} is ${JSON.stringify(end)}, not after ${Annotation.windowStart} ${JSON.stringify(start)}`,
      ),
    };
  if (now < opensAt)
    return { kind: 'closed', message: `Waiting for the window, which starts at ${start} (annotation ${Annotation.windowStart})`, opensAt };
  if (now >= closesAt)
    return {
      kind: 'closed',
      message: `The window ended at ${end} (annotation ${Annotation.windowEnd})`,
    };
  return { kind: 'open', closesAt: end === undefined ? undefined : closesAt };
}

function findMalformed(annotations: readonly (readonly [string, string | undefined])[]): string | undefined {
  for (const [key, value] of annotations) {
    if (value !== undefined && !Time.safeParse(value).success)
      return explain('InvalidWindow', `Annotation ${key} is ${JSON.stringify(value)}, not an RFC 3339 time with zone`);
  }
  return undefined;
}
