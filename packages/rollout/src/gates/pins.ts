/** The annotation that asks for pins of what is pulled. Pure. */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgrade, cutAtWord, explain, PinWay } from '@flotilla/api/ran';

/** Pins that the annotation asks for, or why it cannot be used; empty where nothing is asked for. */
interface PinsWanted {
  readonly pins?: PinWay;
  readonly problem?: string;
}

/** Chooses of two ways the one whose removal removes both: pins last until the end, even if nobody asks for more, or asks for others. */
export const strongerPins = (kept: PinWay | undefined, wanted: PinWay | undefined): PinWay | undefined =>
  kept === 'pinned-image-set' ? kept : (wanted ?? kept);

/** Reads the annotation of an upgrade. */
export function readPins({
  metadata: { annotations = {} },
  spec,
}: Pick<ClusterGroupUpgrade, 'spec'> & { readonly metadata: Pick<ObjectMeta, 'annotations'> }): PinsWanted {
  const value = annotations[Annotation.pins];
  if (value === undefined) return {};
  const pins = PinWay.safeParse(value).data;
  if (pins === undefined)
    return { problem: explain('InvalidPins', `Annotation ${Annotation.pins} is ${JSON.stringify(cutAtWord(value))}, which is not known`) };
  if (spec?.preCaching !== true)
    return { problem: explain('InvalidPins', `Annotation ${Annotation.pins} stands on an upgrade that pre-caches nothing`) };
  return { pins };
}
