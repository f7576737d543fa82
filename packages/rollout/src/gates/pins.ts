/** The annotation that asks for pins of what is pulled. Pure. */
import { Annotation, type ObjectMeta } from '@flotilla/api';
import { type ClusterGroupUpgrade, cutAtWord, explain } from '@flotilla/api/ran';

/** What is pinned, or why the annotation cannot be used; empty where nothing is asked for. */
interface PinsWanted {
  readonly pins?: 'runtime';
  readonly problem?: string;
}

/** Reads the annotation of an upgrade. */
export function readPins({
  metadata: { annotations = {} },
  spec,
}: Pick<ClusterGroupUpgrade, 'spec'> & { readonly metadata: Pick<ObjectMeta, 'annotations'> }): PinsWanted {
  const value = annotations[Annotation.pins];
  if (value === undefined) return {};
  if (value !== 'runtime')
    return { problem: explain('InvalidPins', `Annotation ${Annotation.pins} is ${JSON.stringify(cutAtWord(value))}, which is not known`) };
  if (spec?.preCaching !== true)
    return { problem: explain('InvalidPins', `Annotation ${Annotation.pins} stands on an upgrade that pre-caches nothing`) };
  return { pins: value };
}
