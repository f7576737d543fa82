import { REFERENCE_OPERATOR, VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';

/**
 * Field manager of a write into a list that somebody else owns. The server keeps such a list as one field, so that the write makes it its writer's:
 * under another name it is not taken for a list that a release alone has written.
 */
export const SHARED_FIELD_MANAGER = `${VERSION_FIELD_MANAGER}-shared`;

/** Who wrote a field of a live object and what is below it, as `managedFields` says it. */
export class FieldOwners {
  readonly #own: readonly Json[];
  readonly #releases: readonly Json[];
  readonly #others: readonly Json[];

  private constructor(own: readonly Json[], releases: readonly Json[], others: readonly Json[]) {
    this.#own = own;
    this.#releases = releases;
    this.#others = others;
  }

  /** Owners of a whole object. Nobody owns anything where the server does not say it. */
  static of(live: Json): FieldOwners {
    const sets: Record<'own' | 'releases' | 'others', Json[]> = { own: [], releases: [], others: [] };
    for (const entry of objectsAt(objectAt(live.metadata).managedFields)) sets[groupOf(entry)].push(objectAt(entry.fieldsV1));
    return new FieldOwners(sets.own, sets.releases, sets.others);
  }

  /** Owners of a field of this one, in the server's words: `f:` a key, `k:` an entry of a list. */
  at(...path: readonly string[]): FieldOwners {
    const below = (sets: readonly Json[]): Json[] =>
      sets.flatMap((set) => {
        let at: unknown = set;
        for (const key of path) at = objectAt(at)[key];
        return at === undefined ? [] : [objectAt(at)];
      });
    return new FieldOwners(below(this.#own), below(this.#releases), below(this.#others));
  }

  /** Releases alone have written it, ours or those of the reference operator. */
  get areReleases(): boolean {
    return this.#own.length + this.#releases.length > 0 && this.#others.length === 0;
  }

  /** Our own releases alone have written it, and nothing of anybody else was ever in it. */
  get areOwn(): boolean {
    return this.#own.length > 0 && this.#releases.length === 0 && this.#others.length === 0;
  }

  get areNone(): boolean {
    return this.#own.length + this.#releases.length + this.#others.length === 0;
  }
}

function groupOf({ manager, operation, subresource }: Json): 'own' | 'releases' | 'others' {
  if (operation !== 'Update' || textAt(subresource) !== '') return 'others';
  if (manager === VERSION_FIELD_MANAGER) return 'own';
  return manager === REFERENCE_OPERATOR || manager === SHARED_FIELD_MANAGER ? 'releases' : 'others';
}
