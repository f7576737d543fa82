import { REFERENCE_OPERATOR, VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';

/**
 * Field manager of a write into a list that somebody else owns. The server keeps such a list as one field, so that it becomes its writer's.
 * This other name keeps it from counting as a list that a release alone has written.
 */
export const SHARED_FIELD_MANAGER = `${VERSION_FIELD_MANAGER}-shared`;

/** Owners of a field of a live object and of the fields below it, by its `managedFields`. */
export class FieldOwners {
  readonly #sets: Sets;

  private constructor(sets: Sets) {
    this.#sets = sets;
  }

  /**
   * Owners of a whole object. Nobody owns anything where the server does not say it.
   * @param groupOf default: releases and others
   */
  static of(live: Json, groupOf: (entry: Json) => Group | undefined = groupOfRelease): FieldOwners {
    const sets: Record<Group, Json[]> = { own: [], releases: [], others: [] };
    for (const entry of objectsAt(objectAt(live.metadata).managedFields)) {
      const group = groupOf(entry);
      if (group) sets[group].push(objectAt(entry.fieldsV1));
    }
    return new FieldOwners(sets);
  }

  /** Owners among which these managers alone count, whoever else has written the same. */
  static ofManagers(live: Json, isOwn: (manager: string) => boolean): FieldOwners {
    return FieldOwners.of(live, ({ manager, subresource }) => (textAt(subresource) === '' && isOwn(textAt(manager)) ? 'own' : undefined));
  }

  /** Owners of a field of this one, in the server's words: `f:` a key, `k:` an entry of a list. */
  at(...path: readonly string[]): FieldOwners {
    const below = (sets: readonly Json[]): Json[] =>
      sets.flatMap((set) => {
        const at = path.reduce<unknown>((value, key) => objectAt(value)[key], set);
        return at === undefined ? [] : [objectAt(at)];
      });
    const { own, releases, others } = this.#sets;
    return new FieldOwners({ own: below(own), releases: below(releases), others: below(others) });
  }

  /** Releases alone have written it, ours or those of the reference operator. */
  get areReleases(): boolean {
    return !this.areNone && this.#sets.others.length === 0;
  }

  /** Our own releases alone have written it, and nothing of anybody else was ever in it. */
  get areOwn(): boolean {
    return this.areReleases && this.#sets.releases.length === 0;
  }

  get areNone(): boolean {
    return Object.values(this.#sets).every((sets) => sets.length === 0);
  }
}

type Group = 'own' | 'releases' | 'others';
type Sets = Readonly<Record<Group, readonly Json[]>>;

function groupOfRelease({ manager, operation, subresource }: Json): Group {
  if (textAt(subresource) !== '') return 'others';
  // this operator applied objects on the server before it wrote them whole
  if (manager === VERSION_FIELD_MANAGER) return 'own';
  if (operation !== 'Update') return 'others';
  return manager === REFERENCE_OPERATOR || manager === SHARED_FIELD_MANAGER ? 'releases' : 'others';
}
