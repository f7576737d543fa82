import { createHash } from 'node:crypto';
import type { KubeObject } from '@flotilla/api';
import { type BuildContext, deviationOf, type FieldChange, fieldChanges, type Json, keepScale } from '@flotilla/release';
import type { Autoscalers, WatchSurroundings } from '@flotilla/runtime';
import type { Wanted } from '../payload/wanted.ts';
import { desiredOf, judgedParts, type LiveObject, plainMetadata, type Standing } from './live-object.ts';

/** Fields of one object that a message names. */
const MOST_FIELDS = 10;

/** Compares live objects with their manifests as they are built for this cluster. */
export class Comparison {
  readonly #autoscalers: Pick<Autoscalers, 'names'>;
  readonly #logger: WatchSurroundings['logger'];
  /** Digests of what the server's own answer had otherwise than the manifest: its defaults, and its way of writing values down. */
  readonly #normal = new Map<string, string>();
  #context: BuildContext = {};

  constructor(autoscalers: Pick<Autoscalers, 'names'>, logger: WatchSurroundings['logger']) {
    this.#autoscalers = autoscalers;
    this.#logger = logger;
  }

  /** From now on manifests are built for this context; what is known of objects that nobody wants is forgotten. */
  begin(context: BuildContext, wanted: ReadonlyMap<string, Wanted>): void {
    this.#context = context;
    for (const key of this.#normal.keys()) if (!wanted.has(key)) this.#normal.delete(key);
  }

  /** Relation of an object to its manifest; undefined before they are compared. */
  standing(wanted: Wanted, object: LiveObject | undefined): Standing | undefined {
    const { seen } = object ?? {};
    return seen?.fingerprint === wanted.fingerprint(this.#context) ? seen.standing : undefined;
  }

  /** The object to be written over a live one, with what is somebody else's as the live one has it. @throws UpdateError for what cannot be */
  merge(wanted: Wanted, object: Json): Json {
    const next = wanted.builder.merge(object, wanted.build(this.#context));
    return this.#autoscalers.names(wanted.manifest) ? keepScale(object, next) : next;
  }

  /** True for a live object that has other replicas than its manifest. */
  differsInScale(wanted: Wanted, object: Json): boolean {
    const next = wanted.builder.merge(object, wanted.build(this.#context));
    return keepScale(object, next) !== next;
  }

  /** Compares a live object with its manifest. The answer to a write of ours is the normal form that later ones are compared with. */
  compare(
    wanted: Wanted,
    object: KubeObject,
    { before, isAnswer = false }: { readonly before: LiveObject | undefined; readonly isAnswer?: boolean },
  ): LiveObject {
    const { builder, key, expected } = wanted;
    const kept = { metadata: plainMetadata(object), ...((builder.judge || expected) && { judged: judgedParts(object) }) };
    const fingerprint = wanted.fingerprint(this.#context);
    // kinds that are waited for change mostly in their status; a definition is compared in milliseconds
    const desired = builder.judge && desiredOf(object);
    const { seen } = before ?? {};
    if (!isAnswer && seen?.standing === 'same' && seen.fingerprint === fingerprint)
      if ((desired !== undefined && seen.desired === desired) || isSameVersion(before, object)) return { ...kept, seen };
    try {
      const next = this.merge(wanted, object);
      const deviation = deviationOf(object, next);
      const normal = normalOf(fingerprint, deviation);
      const isNormal = deviation === '' || this.#normal.get(key) === normal;
      const standing = isNormal ? 'same' : builder.resembles(object, next) ? 'unproven' : 'different';
      if (isAnswer && standing === 'different') this.#tellLost(wanted, fieldChanges(object, next));
      if (isAnswer) this.#normal.set(key, normal);
      return { ...kept, seen: { fingerprint, ...(isNormal || isAnswer ? { standing: 'same', desired } : { standing, whole: object }) } };
    } catch {
      // the error is told where the object is applied
      return { ...kept, seen: { fingerprint, standing: 'different', whole: object } };
    }
  }

  /** Tells the fields of the manifest that a server's answer has otherwise, or not at all. */
  #tellLost({ manifest: { kind }, objectKey }: Wanted, changes: readonly FieldChange[]): void {
    const lost = changes.filter(({ to }) => to !== undefined).map(({ path }) => path);
    this.#logger?.warn(
      { kind, object: objectKey, fields: lost.slice(0, MOST_FIELDS) },
      'The server keeps an object otherwise than its manifest says',
    );
  }

  /** An object is what the server makes of its manifest. */
  keepNormal(wanted: Wanted, object: Json): void {
    const deviation = deviationOf(object, this.merge(wanted, object));
    this.#normal.set(wanted.key, normalOf(wanted.fingerprint(this.#context), deviation));
  }
}

const isSameVersion = (one: KubeObject | undefined, { metadata: { uid, resourceVersion } }: KubeObject): boolean =>
  one?.metadata.uid === uid && one?.metadata.resourceVersion === resourceVersion && resourceVersion !== undefined;

const normalOf = (fingerprint: string, deviation: string): string =>
  createHash('sha256').update(fingerprint).update('\n').update(deviation).digest('base64');
