import type { HubSign, LimitsLane, MemberRow, Rights, SpokeRow, StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import { signal } from '@preact/signals';
import { hearTime, present } from '../words/server-clock.ts';
import { type Asking, createAsking } from './ask.ts';
import { History, type Sample } from './history.ts';
import { Rows } from './rows.ts';
import { Session } from './session.ts';
import type { LinkState } from './stream.ts';
import { forgetToken } from './token.ts';

/** Everything that the page shows, as the server last said it. */
export class World {
  readonly ask: Asking;
  readonly link = signal<LinkState>('opening');
  readonly openedAt = Date.now();
  /** When a message came last, by the browser's clock, which silence is measured by. */
  readonly heardAt = signal<number | undefined>(undefined);
  readonly server = signal('');
  /** Name by which that server knows whoever looks. */
  readonly viewer = signal('');
  readonly rights = signal<Rights | undefined>(undefined);
  readonly hub = signal<HubSign | undefined>(undefined);
  readonly unseen = signal<readonly string[]>([]);
  /** Rows have come once. */
  readonly isFilled = signal(false);
  readonly upgrades = new Rows<UpgradeRow>();
  readonly spokes = new Rows<SpokeRow>();
  /** Members of the upgrade that is looked at. */
  readonly members = new Rows<MemberRow>();
  /** Progress of the upgrade that is looked at, the latest last. */
  readonly history = signal<readonly Sample[]>([]);
  /** Limits of the fleet as they were answered last: whoever comes back to them need not wait. */
  limits: LimitsLane | undefined;
  readonly #session: Session;
  readonly #history = new History();
  #looked: string | undefined;

  constructor(token: string) {
    this.ask = createAsking(token);
    this.#session = new Session(token, {
      onState: (state) => {
        this.link.value = state;
        if (state === 'refused') forgetToken();
      },
      onHeard: () => {
        this.heardAt.value = Date.now();
      },
      onTime: hearTime,
      onMessage: (message) => this.#take(message),
    });
    const see = (): void => this.#session.see(!document.hidden);
    document.addEventListener('visibilitychange', see);
    // A page that is kept for going back to must not count as one that is seen.
    addEventListener('pagehide', () => this.#session.see(false));
    addEventListener('pageshow', see);
    see();
  }

  /** The rows of a table are all that there are: they have come, and whoever looks may see them. */
  knows(table: 'upgrades' | 'spokes'): boolean {
    return this.isFilled.value && this.rights.value?.[table] === null;
  }

  /** Follows the fleet, and the members of one upgrade. */
  look(upgrade: string | undefined): void {
    if (this.#looked === upgrade) return;
    this.#looked = upgrade;
    this.members.clear();
    this.history.value = upgrade === undefined ? [] : this.#history.of(upgrade);
    this.#session.look(upgrade);
  }

  #take({ server, viewer, rights, hub, unseen, upgrades, spokes, members }: StreamMessage): void {
    if (server !== undefined) this.server.value = server;
    if (viewer !== undefined) this.viewer.value = viewer;
    if (rights) this.rights.value = rights;
    if (hub) this.hub.value = hub;
    if (unseen) this.unseen.value = unseen;
    if (upgrades) {
      this.upgrades.take(upgrades);
      this.isFilled.value = true;
      const noted = this.#history.note(this.upgrades.values(), present());
      if (this.#looked !== undefined && noted.has(this.#looked)) this.history.value = [...this.#history.of(this.#looked)];
    }
    if (spokes) this.spokes.take(spokes);
    if (members && members.upgrade === this.#looked) this.members.take(members.changes);
  }
}
