/** The stream of a tab, held while somebody sees the tab: a browser has six connections for one host. */
import { follow, type StreamEvents } from './stream.ts';

/** Follows the fleet, and the members of one upgrade. Nobody sees the tab at first. */
export class Session {
  readonly #token: string;
  readonly #events: StreamEvents;
  readonly #fetch: typeof fetch;
  readonly #place: { last: string | undefined } = { last: undefined };
  #isSeen = false;
  #upgrade: string | undefined;
  /** Its members have come. */
  #hasMembers = false;
  #following: AbortController | undefined;

  /** @param ask asks the server; of the browser, but for tests */
  constructor(token: string, events: StreamEvents, ask: typeof fetch = (...args) => fetch(...args)) {
    this.#token = token;
    this.#events = events;
    this.#fetch = ask;
  }

  /** The upgrade whose members are shown. */
  look(upgrade: string | undefined): void {
    if (this.#upgrade === upgrade) return;
    this.#upgrade = upgrade;
    this.#hasMembers = false;
    if (this.#following) this.#follow();
  }

  /** Somebody looks at the tab, or nobody does. After a refusal the next look asks again. */
  see(isSeen: boolean): void {
    this.#isSeen = isSeen;
    if (isSeen !== (this.#following !== undefined)) this.#follow();
  }

  #follow(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#events.onState('opening');
    if (!this.#isSeen) return;
    const following = new AbortController();
    this.#following = following;
    const keys = (isWanted: boolean): string[] => (this.#upgrade !== undefined && isWanted ? [this.#upgrade] : []);
    void follow(
      {
        token: this.#token,
        fetch: this.#fetch,
        place: this.#place,
        wish: () => ({ upgrades: keys(this.#hasMembers), fresh: keys(!this.#hasMembers) }),
        onState: (state) => {
          if (state === 'refused') this.#following = undefined;
          this.#events.onState(state);
        },
        onHeard: this.#events.onHeard,
        onTime: this.#events.onTime,
        onMessage: (message) => {
          this.#hasMembers ||= message.members !== undefined && message.members.upgrade === this.#upgrade;
          this.#events.onMessage(message);
        },
      },
      following.signal,
    );
  }
}
