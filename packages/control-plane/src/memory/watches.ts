import { isJsonObject } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
import { apiVersionOf, kindKey, type ServedKind } from './built-in-kinds.ts';
import { selection } from './lists.ts';
import type { Change } from './object-log.ts';
import type { Objects } from './objects.ts';
import { internal, UnsupportedError } from './refusals/refusal.ts';
import { isSet, type Query } from './request.ts';
import { WatchStream } from './watch-stream.ts';

interface WatchesOptions {
  readonly objects: Objects;
  readonly clock: Clock;
  /** Calls `wake` of a reader, now or later. */
  readonly deliver: (wake: () => void) => void;
  /** Milliseconds between bookmarks; watches also end in their time then. Absent: neither. */
  readonly bookmarkMs: number | undefined;
}

interface OpenWatch {
  readonly kind: ServedKind;
  readonly stream: WatchStream;
  readonly isSelected: ReturnType<typeof selection>;
  readonly takesBookmarks: boolean;
}

/** The open watches of a server. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #open = new Set<OpenWatch>();

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** Opens one: what has changed since its version comes first. */
  open(kind: ServedKind, namespace: string | undefined, query: Query): WatchStream {
    const { objects, deliver } = this.#options;
    const isSelected = selection(kind, namespace, query);
    const timers: Disposable[] = [];
    const stream = new WatchStream(deliver, () => {
      this.#open.delete(watch);
      for (const timer of timers) timer[Symbol.dispose]();
    });
    const watch: OpenWatch = { kind, stream, isSelected, takesBookmarks: isSet(query.allowWatchBookmarks) };
    const since = versionOf(query.resourceVersion);
    if (since > objects.log.version) throw new UnsupportedError(`watch from version ${since}, which is later than ${objects.log.version}`);
    if (since !== 0 && since < objects.log.oldest) {
      stream.push(tooOld(since, objects.log.oldest));
      stream.end();
      return stream;
    }
    this.#open.add(watch);
    if (since === 0) for (const stored of objects.list(kind)) if (isSelected(stored)) stream.push(line('ADDED', stored.text));
    if (since !== 0) for (const change of objects.log.changesAfter(kindKey(kind.group, kind.plural), since)) this.#tell(watch, change);
    this.#time(watch, timers, query.timeoutSeconds);
    return stream;
  }

  #time(watch: OpenWatch, timers: Disposable[], timeoutSeconds: number | undefined): void {
    const { clock, bookmarkMs } = this.#options;
    if (bookmarkMs === undefined) return;
    const again = (): void => {
      this.#bookmark(watch);
      timers[0] = clock.setTimer(bookmarkMs, again);
    };
    timers[0] = clock.setTimer(bookmarkMs, again);
    if (timeoutSeconds !== undefined) timers[1] = clock.setTimer(timeoutSeconds * 1000, () => watch.stream.end());
  }

  /** Tells every watch of a change. */
  changed(kind: ServedKind, change: Change): void {
    for (const watch of this.#open) if (watch.kind.group === kind.group && watch.kind.plural === kind.plural) this.#tell(watch, change);
  }

  /** Sends a bookmark with the version of the store to every watch that takes one. */
  bookmark(): void {
    for (const watch of this.#open) this.#bookmark(watch);
  }

  #bookmark({ kind, stream, takesBookmarks }: OpenWatch): void {
    if (!takesBookmarks) return;
    const metadata = { resourceVersion: String(this.#options.objects.log.version), creationTimestamp: null };
    stream.push(line('BOOKMARK', JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), metadata })));
  }

  /** Ends all watches, as a server does that stops. */
  end(): void {
    for (const { stream } of this.#open) stream.end();
  }

  /** An object that is selected no more has gone for a watch, and one that is now has come. */
  #tell({ stream, isSelected }: OpenWatch, { type, after, before, version }: Change): void {
    const was = before !== undefined && isSelected(before);
    const is = type !== 'DELETED' && isSelected(after);
    if (is) stream.push(line(was ? 'MODIFIED' : 'ADDED', after.text));
    else if (was) {
      const last = type === 'DELETED' ? after.object : before.object;
      const metadata = isJsonObject(last.metadata) ? last.metadata : {};
      stream.push(line('DELETED', JSON.stringify({ ...last, metadata: { ...metadata, resourceVersion: String(version) } })));
    }
  }
}

const line = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`;

function versionOf(text = ''): number {
  if (text === '') return 0;
  if (!/^\d+$/.test(text))
    throw internal(
      `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

function tooOld(since: number, oldest: number): string {
  const message = `too old resource version: ${since} (${oldest})`;
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Expired', code: 410 };
  return line('ERROR', JSON.stringify(status));
}
