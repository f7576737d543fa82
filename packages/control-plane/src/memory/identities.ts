import type { ServedKind } from './built-in-kinds.ts';
import { refusedMetadata } from './metadata.ts';
import { invalid } from './refusals/refusal.ts';
import type { Json } from './schema/schema.ts';
import { brokenRules } from './schema/validation.ts';

const SUFFIX = 'bcdfghjklmnpqrstvwxz2456789';

/** Names and uids that a server gives, the same in each run. */
export class Identities {
  readonly #seed: number;
  #born = 0;

  /** @param seed digits of all uids, 0 to 2^32 - 1 */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The name that a new object asks for. Throws for one that asks for none. */
  nameFor(kind: ServedKind, { name, generateName }: Json): string {
    if (typeof name === 'string' && name !== '') return name;
    if (typeof generateName !== 'string' || generateName === '') {
      const causes = refusedMetadata(kind, {});
      throw invalid(kind, '', [...causes, ...(kind.isCustom ? brokenRules(kind.schema, {}, undefined, causes) : [])]);
    }
    let rest = this.#born + 1;
    const letters = Array.from({ length: 5 }, () => {
      const letter = SUFFIX[rest % SUFFIX.length] ?? 'x';
      rest = Math.floor(rest / SUFFIX.length);
      return letter;
    });
    return `${generateName}${letters.toReversed().join('')}`;
  }

  uid(): string {
    this.#born += 1;
    const seed = this.#seed.toString(16).padStart(8, '0').slice(-8);
    return `${seed}-0000-4000-8000-${this.#born.toString(16).padStart(12, '0')}`;
  }
}
