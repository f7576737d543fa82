import { EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE, type ScalarEvent, YAMLException } from 'js-yaml';
import { quoted } from '../errors.ts';
import { resolvePlain, type YamlValue } from './canonical-json.ts';

/** Limits of a document: levels, characters that are read again after an indentation that Go's reader forgives, and reported doubled keys. */
const limits = { depth: 100, charactersAgain: 2 * 1024 * 1024, doubledKeys: 100 } as const;

/** Values that a document may have with its aliases written out, and values that its aliases may stand for. */
interface Bounds {
  readonly values: number;
  readonly aliasedValues: number;
}

interface DoubledKey {
  readonly key: string;
  /** Line of the second, from 0. */
  readonly line: number;
}

/**
 * Reads the one document of a text as the YAML reader of Kubernetes tools does. The last value of a doubled key counts, a quoted text or a
 * bracket may be indented less than its key, and `<<` merges. The doubled keys are the first hundred.
 * @throws Error with the line, counted from `firstLine`, for what is not YAML; for what JSON has not, and beyond the limits
 */
export function readManifestYaml(
  text: string,
  firstLine = 1,
  most: Bounds = { values: Number.POSITIVE_INFINITY, aliasedValues: 5_000 },
): { readonly value: YamlValue; readonly doubledKeys: readonly DoubledKey[] } {
  const { source, events } = parse(text, firstLine);
  const reader = new EventReader(source, events, most);
  return { value: reader.document(), doubledKeys: reader.doubledKeys };
}

/** The events of a text. Where a line is indented less than its key, blanks go before it: they are no part of what it says. */
function parse(text: string, firstLine: number): { source: string; events: Event[] } {
  let source = text;
  for (let left = limits.charactersAgain; ; left -= source.length) {
    try {
      return { source, events: parseEvents(source, { maxDepth: limits.depth }) };
    } catch (cause) {
      if (!(cause instanceof YAMLException) || cause.mark === undefined) throw cause;
      const { reason, mark } = cause;
      if (reason !== 'deficient indentation' || left < 0) throw new Error(`${reason} in line ${firstLine + mark.line}`, { cause });
      const lineStart = source.lastIndexOf('\n', mark.position - 1) + 1;
      source = `${source.slice(0, lineStart)}${' '.repeat(limits.depth)}${source.slice(lineStart)}`;
    }
  }
}

class EventReader {
  readonly #source: string;
  readonly #events: readonly Event[];
  readonly #most: Bounds;
  #at = 0;
  #values = 0;
  #aliasedValues = 0;
  readonly #anchors = new Map<string, { readonly value: YamlValue; readonly values: number }>();
  readonly doubledKeys: DoubledKey[] = [];

  constructor(source: string, events: readonly Event[], most: Bounds) {
    this.#source = source;
    this.#events = events;
    this.#most = most;
  }

  /** Value of the document; null when it is empty. */
  document(): YamlValue {
    this.#at = 1;
    return this.#isEnd() ? null : this.#value();
  }

  #value(): YamlValue {
    const event = this.#events[this.#at++];
    if (event?.type === EVENT_ID.ALIAS) return this.#aliased(this.#source.slice(event.anchorStart, event.anchorEnd));
    if (event?.type !== EVENT_ID.SCALAR && event?.type !== EVENT_ID.SEQUENCE && event?.type !== EVENT_ID.MAPPING)
      throw new Error('it has no value where one belongs');
    const anchor = this.#source.slice(event.anchorStart, event.anchorEnd);
    // Inside of it the name stands for nothing that could be written out.
    this.#anchors.delete(anchor);
    const before = this.#values++;
    if (before >= this.#most.values) throw new Error(`it has more than ${this.#most.values} values; JSON may have more`);
    const value = this.#read(event);
    if (anchor !== '') this.#anchors.set(anchor, { value, values: this.#values - before });
    return value;
  }

  #read(event: Exclude<Event, { type: typeof EVENT_ID.ALIAS | typeof EVENT_ID.POP | typeof EVENT_ID.DOCUMENT }>): YamlValue {
    const tag = this.#source.slice(event.tagStart, event.tagEnd);
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event, tag);
    if (/^!(?:!(?!(?:map|seq)$)|<)/.test(tag)) throw unknownTag(tag);
    return event.type === EVENT_ID.SEQUENCE ? this.#sequence() : this.#mapping();
  }

  #scalar(event: ScalarEvent, tag: string): YamlValue {
    const text = getScalarValue(this.#source, event);
    if (tag === '') return event.style === SCALAR_STYLE.PLAIN ? resolvePlain(text) : text;
    if (/^!!(?:int|float|bool|null)$/.test(tag)) return resolvePlain(text);
    if (/^!(?:!(?!str$)|<)/.test(tag)) throw unknownTag(tag);
    return text;
  }

  #sequence(): YamlValue {
    const items: YamlValue[] = [];
    while (!this.#isEnd()) items.push(this.#value());
    this.#at++;
    return items;
  }

  #mapping(): YamlValue {
    const entries = new Map<string, YamlValue>();
    const merged: YamlValue[] = [];
    while (!this.#isEnd()) {
      const event = this.#events[this.#at];
      const key = this.#value();
      if (key === null || typeof key === 'object') throw new Error('it has a key that is no text');
      if (key === '<<' && event?.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN) {
        merged.push(this.#value());
        continue;
      }
      const name = String(key);
      if (entries.has(name)) this.#noteDoubled(name, event);
      entries.set(name, this.#value());
    }
    this.#at++;
    for (const other of merged.flat()) {
      if (!(other instanceof Map)) throw new Error('it merges what is no object');
      for (const [name, value] of other) if (!entries.has(name)) entries.set(name, value);
    }
    return entries;
  }

  #noteDoubled(key: string, event: Event | undefined): void {
    if (this.doubledKeys.length >= limits.doubledKeys || event?.type !== EVENT_ID.SCALAR) return;
    this.doubledKeys.push({ key, line: this.#source.slice(0, event.valueStart).split('\n').length - 1 });
  }

  /** A few lines of aliases can stand for gigabytes: each counts as what it stands for. */
  #aliased(name: string): YamlValue {
    const anchored = this.#anchors.get(name);
    if (!anchored) throw new Error(`the alias ${quoted(name)} stands for nothing before it`);
    this.#values += anchored.values;
    this.#aliasedValues += anchored.values;
    if (this.#aliasedValues > this.#most.aliasedValues)
      throw new Error(`its aliases stand for more than ${this.#most.aliasedValues} values; write it plainly`);
    return anchored.value;
  }

  #isEnd(): boolean {
    const type = this.#events[this.#at]?.type;
    return type === undefined || type === EVENT_ID.POP;
  }
}

const unknownTag = (tag: string): Error => new Error(`it has the tag ${quoted(tag)}, which JSON has not; leave it out`);
