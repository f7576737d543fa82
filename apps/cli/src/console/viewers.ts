import { createHash } from 'node:crypto';
import { FlotillaError } from '@flotilla/api';
import type { Clock } from '@flotilla/pace';
import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';
import { stranger } from './door.ts';
import type { Viewer } from './viewer.ts';

/** Rules by which people are let in. */
interface ViewersOptions {
  /** Begins the look of whoever has the token; everything of it ends with the signal. Throws the API server's refusal. */
  readonly open: (token: string, ended: AbortSignal) => Promise<Viewer>;
  /** So many look at a time. */
  readonly most: number;
  readonly clock: Clock;
  /** Told who comes and goes, a line each. */
  readonly say: (line: string) => void;
}

interface Entry {
  readonly viewer: Viewer;
  readonly ending: AbortController;
  askedAt: number;
  checkedAt: number;
}

/** Tokens that the API server is asked about at the same time: whoever tries many holds up nobody but those who try. */
const MOST_OPENING = 8;
/** A look is checked this often: a right that was taken away, or a token that has run out, ends it. */
const CHECK_MS = 60_000;
/** A look that nobody has a page of ends: its watches cost the API server. */
const IDLE_MS = 90_000;
/** Between two rounds. */
const ROUND_MS = 15_000;

/** Looks of several people, each with their own token: watches, rows and answers of one are never those of another. */
export class Viewers {
  readonly #options: ViewersOptions;
  /** By hash: nothing here is worth stealing for who reads the memory of tables. */
  readonly #entries = new Map<string, Entry>();
  readonly #opening = new Map<string, Promise<Viewer>>();

  constructor(options: ViewersOptions) {
    this.#options = options;
  }

  /** Looks that go on. */
  get size(): number {
    return this.#entries.size;
  }

  /** Checks and ends looks, until the signal aborts; then all end. */
  start(signal: AbortSignal): void {
    const { clock } = this.#options;
    const next = (): Disposable =>
      clock.setTimer(ROUND_MS, () => {
        void this.round();
        timer = next();
      });
    let timer = next();
    signal.addEventListener('abort', () => {
      timer[Symbol.dispose]();
      for (const key of [...this.#entries.keys()]) this.#end(key, 'the console ends');
    });
  }

  /** The look of whoever has a token. Throws `FLOTILLA_CONSOLE_LOGIN` for one that the API server does not know, `FLOTILLA_CONSOLE_FULL` when too many look. */
  async enter(token: string): Promise<Viewer> {
    const key = createHash('sha256').update(token).digest('base64url');
    const entry = this.#entries.get(key);
    if (entry) {
      entry.askedAt = this.#options.clock.now();
      return entry.viewer;
    }
    const opening = this.#opening.get(key) ?? this.#open(key, token);
    this.#opening.set(key, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(key);
    }
  }

  async #open(key: string, token: string): Promise<Viewer> {
    const { open, most, clock, say } = this.#options;
    if (this.#opening.size >= MOST_OPENING) throw full('many log in at this moment: try again in some seconds');
    if (this.#entries.size >= most) this.#makeRoom();
    if (this.#entries.size + this.#opening.size >= most)
      throw full(`${most} people look already: try again later, or have console.viewers of charts/hub raised`);
    const ending = new AbortController();
    try {
      const viewer = await open(token, ending.signal);
      const now = clock.now();
      this.#entries.set(key, { viewer, ending, askedAt: now, checkedAt: now });
      say(`${nameOf(viewer)} looks, ${this.#entries.size} of ${most}`);
      return viewer;
    } catch (error) {
      ending.abort();
      if (isRefusal(error)) throw stranger('the API server does not know this token, or it has run out: log in with another');
      throw error;
    }
  }

  /** One round of checks. */
  async round(): Promise<void> {
    await Promise.all([...this.#entries].map(([key, entry]) => this.#check(key, entry)));
  }

  async #check(key: string, entry: Entry): Promise<void> {
    const now = this.#options.clock.now();
    if (!entry.viewer.feed.isHeard && now - entry.askedAt >= IDLE_MS) return this.#end(key, 'nobody looks any more');
    if (now - entry.checkedAt < CHECK_MS) return;
    entry.checkedAt = now;
    try {
      if (!(await entry.viewer.isStillSo())) this.#end(key, 'their rights have changed');
    } catch (error) {
      // A server that does not answer takes nobody's rights away; the page says that it is not heard.
      if (isRefusal(error)) this.#end(key, 'the API server does not know the token any more');
    }
  }

  #makeRoom(): void {
    for (const [key, { viewer }] of this.#entries) if (!viewer.feed.isHeard) return this.#end(key, 'another comes');
  }

  #end(key: string, why: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    entry.ending.abort();
    this.#options.say(`${nameOf(entry.viewer)} looks no more: ${why}`);
  }
}

const nameOf = ({ greeting }: Viewer): string => JSON.stringify(greeting.viewer ?? '');
const full = (says: string): FlotillaError => new FlotillaError('FLOTILLA_CONSOLE_FULL', says);
const isRefusal = (error: unknown): boolean => error instanceof ApiError && error.code === RuntimeErrorCode.unauthorized;
