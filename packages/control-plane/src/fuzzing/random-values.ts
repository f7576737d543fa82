import { createRandom } from '../random.ts';

/** Values for cases of a property run; the same seed and text give the same values. */
export class RandomValues {
  readonly #next: () => number;

  constructor(seed: number, text: string) {
    this.#next = createRandom(seed, text);
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0];
  }

  /** So many values, at most `most`; few are likelier than many. */
  list<T>(most: number, make: (index: number) => T): T[] {
    return Array.from({ length: Math.floor(this.#next() ** 2 * (most + 1)) }, (_, index) => make(index));
  }

  bytes(most: number): Buffer {
    return Buffer.from(this.list(most, () => this.below(256)));
  }

  /** A text: plain, odd, or long. */
  text(most = 40): string {
    if (this.chance(0.3)) return this.pick(ODD_TEXTS);
    if (this.chance(0.004)) return this.pick(ODD_TEXTS).repeat(this.below(20_000)).slice(0, 60_000);
    return this.list(most, () => this.pick(CHARACTERS)).join('');
  }

  /** A JSON value, at most `depth` levels deep. */
  json(depth = 4): unknown {
    if (depth > 0 && this.chance(0.25)) return this.list(6, () => this.json(depth - 1));
    if (depth > 0 && this.chance(0.4)) return this.object(this.list(6, (): [string, unknown] => [this.text(12), this.json(depth - 1)]));
    return this.pick<() => unknown>([() => this.text(), () => this.pick(ODD_NUMBERS), () => this.chance(0.5), () => null])();
  }

  /** Entries as own fields, `__proto__` included. */
  object(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
    return Object.fromEntries(entries);
  }

  /** The value with one of its parts replaced, left out or doubled, some of the time more of them. */
  mutate(value: unknown): unknown {
    const once = this.#mutateOnce(value);
    return this.chance(0.4) ? this.mutate(once) : once;
  }

  #mutateOnce(value: unknown): unknown {
    if (this.chance(0.15)) return this.json(3);
    if (Array.isArray(value) && value.length > 0) {
      const at = this.below(value.length);
      const copy: unknown[] = [...value];
      this.pick([
        () => copy.splice(at, 1),
        () => copy.push(...Array.from({ length: this.below(this.chance(0.1) ? 300 : 4) }, () => copy[at])),
        ...Array.from({ length: 3 }, () => () => copy.splice(at, 1, this.#mutateOnce(copy[at]))),
      ])();
      return copy;
    }
    if (typeof value === 'object' && value !== null) {
      const entries: [string, unknown][] = Object.entries(value);
      const entry = entries[this.below(entries.length)];
      if (!entry || this.chance(0.1)) return this.object([...entries, [this.text(12), this.json(2)]]);
      if (this.chance(0.15)) return this.object(entries.filter((other) => other !== entry));
      return this.object(entries.map((other) => (other === entry ? [entry[0], this.#mutateOnce(entry[1])] : other)));
    }
    if (typeof value === 'string' && this.chance(0.5)) return this.mutateText(value);
    return this.json(2);
  }

  /** A text with something of it changed. */
  mutateText(text: string): string {
    const at = this.below(text.length + 1);
    const piece = text.slice(at, at + this.below(20));
    return this.pick([
      () => text.slice(0, at),
      () => text.slice(0, at) + this.text(6) + text.slice(at),
      () => text.slice(0, at) + text.slice(at + piece.length),
      () => (text.slice(0, at) + piece.repeat(this.below(this.chance(0.1) ? 2_000 : 40)) + text.slice(at)).slice(0, 100_000),
    ])();
  }

  /** Bytes with some of them changed, left out, doubled or cut off. */
  mutateBytes(bytes: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const length = this.below(64);
    const changed = Buffer.from(bytes);
    if (changed.length > 0) for (let i = this.below(4); i >= 0; i--) changed[this.below(changed.length)] = this.below(256);
    return this.pick([
      () => changed,
      () => bytes.subarray(0, at),
      () => Buffer.concat([bytes.subarray(0, at), this.bytes(64), bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]),
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at)]),
    ])();
  }
}

type Some<T> = readonly [T, ...T[]];

const CHARACTERS: Some<string> = ['a', ...Array.from('abcz019AZ.-_:/@$*?[](){}|\\+^!"\'`,;#=<>~% \t\n\r\0é\u2028\ud83d')];
const ODD_TEXTS: Some<string> = [
  '',
  ' ',
  '\0',
  '\n',
  '0',
  '-1',
  '1e309',
  'null',
  'true',
  '{}',
  '[]',
  '{{',
  '}}',
  '{{hub index .x hub}}',
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '/',
  '//',
  '.',
  '..',
  '*',
  '**',
  '.*',
  '(a+)+$',
  '\ud800',
  '\u202e',
  '\ufeff',
  '2026-01-01T00:00:00Z',
  '9'.repeat(400),
  'a'.repeat(253),
  'True',
  'False',
  'Unknown',
  'sha256:',
  `sha256:${'a'.repeat(64)}`,
  'host.example/a/b:1',
  'host:5000/a@sha256:',
  '35 GiB',
  '&a',
  '*a',
  '---',
  '- ',
  '!!binary x',
  '<<: *a',
];
const ODD_NUMBERS: Some<number> = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e21,
  -1e21,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  9.2e18,
  1e308,
  5e-324,
  255,
  65_536,
  4_294_967_296,
];
