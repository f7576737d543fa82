import { isJsonObject, KubeObject } from '@flotilla/api';
import type { Json } from '@flotilla/release';
import { z } from 'zod';

/** Relation of a live object to its manifest. */
export type Standing = 'same' | 'unproven' | 'different';

/** Result of comparing a live object. */
interface Seen {
  /** Fingerprint of the manifest it was compared to. */
  readonly fingerprint: string;
  /** Compared content, where the server counts its changes: when the status alone changes, it is not compared again. */
  readonly desired?: string | undefined;
  /** `unproven`: it may be what the server makes of the manifest, which the server has not been asked in this process. */
  standing: Standing;
  /** The object itself while it is not known to be the same: what is written is made of it. */
  whole?: Json | undefined;
}

/**
 * A live object as far as it is kept: who it is, what was found when it was compared, and of kinds that are waited for what the verdict needs.
 * The object itself is not kept: a release has a thousand of them, and a cluster many more.
 */
export const LiveObject = KubeObject.extend({
  seen: z.custom<Seen>().optional().catch(undefined),
  judged: z.custom<Json>().optional().catch(undefined),
});
export type LiveObject = z.output<typeof LiveObject>;

const PLAIN = ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'deletionTimestamp'] as const;

/** The metadata that is kept of any object. */
export function plainMetadata({ metadata }: KubeObject): KubeObject['metadata'] {
  return {
    name: metadata.name,
    ...Object.fromEntries(PLAIN.flatMap((key) => (metadata[key] === undefined ? [] : [[key, metadata[key]]]))),
  };
}

/** Changes with whatever a manifest of a workload or a definition can be about; undefined without a generation. */
export function desiredOf({ metadata }: KubeObject): string | undefined {
  const { uid, generation, labels, annotations, ownerReferences } = metadata;
  return generation === undefined ? undefined : JSON.stringify([uid, generation, labels, annotations, ownerReferences]);
}

const SPEC = ['paused', 'completions', 'backoffLimit', 'updateStrategy', 'replicas', 'selector'];

/** Fields on which verdicts about workloads, definitions and operators depend. */
export function judgedParts(object: KubeObject): Json {
  const spec = Object.entries(asObject(object.spec)).filter(([key]) => SPEC.includes(key));
  return { metadata: plainMetadata(object), spec: Object.fromEntries(spec), status: asObject(object.status) };
}

const asObject = (value: unknown): Json => (isJsonObject(value) ? value : {});

/** True for an object of a later version than another of its name; versions of one server count up. */
export const isLater = ({ metadata }: KubeObject, than: KubeObject): boolean => {
  const [version, other] = [Number(metadata.resourceVersion), Number(than.metadata.resourceVersion)];
  return Number.isNaN(version) || Number.isNaN(other) ? metadata.resourceVersion !== than.metadata.resourceVersion : version > other;
};
