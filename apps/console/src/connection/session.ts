/** One stream for all tabs that have the same key. It lives in a shared worker, or in the page where a browser has none. */
import type { MemberRow, SpokeRow, StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import { History, type Sample } from './history.ts';
import { takeChanges, wholeOf } from './row-map.ts';
import { follow, type LinkState } from './stream.ts';

/** Something that a tab hears. */
export type Said =
  | { readonly kind: 'state'; readonly state: LinkState }
  /** Milliseconds since the epoch when something came last. */
  | { readonly kind: 'heard'; readonly at: number }
  | { readonly kind: 'message'; readonly message: StreamMessage }
  | { readonly kind: 'history'; readonly upgrade: string; readonly samples: readonly Sample[] };

/** A tab. */
interface Tab {
  readonly say: (said: Said) => void;
  upgrade: string | undefined;
  isSeen: boolean;
  /** It has all rows, and hears of each change. */
  isFed: boolean;
}

/** Ways of a tab to say what it shows. */
export interface Seat {
  /** The upgrade whose members it shows. */
  look(upgrade: string | undefined): void;
  /** Somebody looks at the tab, or nobody does. */
  see(isSeen: boolean): void;
  leave(): void;
}

/** Rows for all tabs of one key, from one stream. */
export class Session {
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #tabs = new Set<Tab>();
  readonly #upgrades = new Map<string, UpgradeRow>();
  readonly #spokes = new Map<string, SpokeRow>();
  /** Members of each upgrade that a tab shows, once they have come. */
  readonly #members = new Map<string, Map<string, MemberRow>>();
  readonly #history = new History();
  readonly #place: { last: string | undefined } = { last: undefined };
  #head: Omit<StreamMessage, 'upgrades' | 'spokes' | 'members'> = {};
  #state: LinkState = 'opening';
  #heardAt: number | undefined;
  #wanted: readonly string[] = [];
  #following: AbortController | undefined;

  /** @param ask asks the server; of the browser, but for tests */
  constructor(token: string, ask: typeof fetch = (...args) => fetch(...args)) {
    this.#token = token;
    this.#fetch = ask;
  }

  /** No tab is left. */
  get isEmpty(): boolean {
    return this.#tabs.size === 0;
  }

  /** A tab comes, and hears everything from now on while it is seen. */
  join(say: (said: Said) => void): Seat {
    const tab: Tab = { say, upgrade: undefined, isSeen: false, isFed: false };
    this.#tabs.add(tab);
    return {
      look: (upgrade) => {
        if (tab.upgrade === upgrade) return;
        tab.upgrade = upgrade;
        if (tab.isFed) this.#feedMembers(tab);
        this.#follow();
      },
      see: (isSeen) => {
        tab.isSeen = isSeen;
        tab.isFed &&= isSeen;
        if (isSeen && !tab.isFed) this.#feed(tab);
        this.#follow();
      },
      leave: () => {
        this.#tabs.delete(tab);
        this.#follow();
      },
    };
  }

  /** Everything that is there, for a tab that was away. */
  #feed(tab: Tab): void {
    tab.isFed = true;
    tab.say({ kind: 'state', state: this.#state });
    if (this.#heardAt !== undefined) tab.say({ kind: 'heard', at: this.#heardAt });
    if (this.#place.last === undefined) return;
    tab.say({ kind: 'message', message: { ...this.#head, upgrades: wholeOf(this.#upgrades), spokes: wholeOf(this.#spokes) } });
    this.#feedMembers(tab);
  }

  #feedMembers({ upgrade, say }: Tab): void {
    if (upgrade === undefined) return;
    this.#tellHistory(upgrade, { say });
    const members = this.#members.get(upgrade);
    if (members) say({ kind: 'message', message: { members: { upgrade, changes: wholeOf(members) } } });
  }

  /** Holds a stream for what the seen tabs show, and none when nobody looks. */
  #follow(): void {
    const seen = [...this.#tabs].filter(({ isSeen }) => isSeen);
    const wanted = [...new Set(seen.flatMap(({ upgrade }) => upgrade ?? []))].toSorted();
    const isSame = wanted.length === this.#wanted.length && wanted.every((upgrade, at) => upgrade === this.#wanted[at]);
    if (this.#following && seen.length > 0 && isSame) return;
    if (!this.#following && seen.length === 0) return;
    this.#wanted = wanted;
    for (const upgrade of this.#members.keys()) if (!wanted.includes(upgrade)) this.#members.delete(upgrade);
    this.#following?.abort();
    this.#following = undefined;
    if (seen.length === 0) {
      this.#state = 'opening';
      return;
    }
    const following = new AbortController();
    this.#following = following;
    const wish = () => ({
      upgrades: wanted.filter((upgrade) => this.#members.has(upgrade)),
      fresh: wanted.filter((upgrade) => !this.#members.has(upgrade)),
    });
    void follow(
      {
        token: this.#token,
        fetch: this.#fetch,
        place: this.#place,
        wish,
        onState: (state) => {
          // A tab that comes after a new log-in begins anew.
          if (state === 'refused' && this.#following === following) this.#following = undefined;
          this.#changeState(state);
        },
        onHeard: () => this.#hear(),
        onMessage: (message) => this.#take(message),
      },
      following.signal,
    );
  }

  #changeState(state: LinkState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#say({ kind: 'state', state });
  }

  #hear(): void {
    this.#heardAt = Date.now();
    this.#say({ kind: 'heard', at: this.#heardAt });
  }

  #take(message: StreamMessage): void {
    const { upgrades, spokes, members, ...head } = message;
    this.#head = { ...this.#head, ...head };
    if (upgrades) takeChanges(this.#upgrades, upgrades);
    const noted = upgrades ? this.#history.note(this.#upgrades, Date.now()) : new Set<string>();
    if (spokes) takeChanges(this.#spokes, spokes);
    if (members) {
      const rows = this.#members.get(members.upgrade) ?? new Map<string, MemberRow>();
      takeChanges(rows, members.changes);
      this.#members.set(members.upgrade, rows);
    }
    this.#say({ kind: 'message', message });
    for (const tab of this.#tabs) if (tab.isFed && tab.upgrade !== undefined && noted.has(tab.upgrade)) this.#tellHistory(tab.upgrade, tab);
  }

  #tellHistory(upgrade: string, { say }: Pick<Tab, 'say'>): void {
    say({ kind: 'history', upgrade, samples: this.#history.of(upgrade) });
  }

  #say(said: Said): void {
    for (const tab of this.#tabs) if (tab.isFed) tab.say(said);
  }
}
