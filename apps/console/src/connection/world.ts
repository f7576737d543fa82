import type { HubSign, MemberRow, Rights, SpokeRow, StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import { signal } from '@preact/signals';
import { type Asking, createAsking } from './ask.ts';
import { Rows } from './rows.ts';
import { follow, type LinkState } from './stream.ts';
import { forgetToken } from './token.ts';

/** Everything that the page shows, as the server last said it. */
export class World {
  readonly ask: Asking;
  readonly link = signal<LinkState>('opening');
  /** When a message came last, milliseconds since the epoch. */
  readonly heardAt = signal<number | undefined>(undefined);
  readonly server = signal('');
  /** Name by which that server knows whoever looks. */
  readonly viewer = signal('');
  readonly rights = signal<Rights | undefined>(undefined);
  readonly hub = signal<HubSign | undefined>(undefined);
  readonly unseen = signal<readonly string[]>([]);
  readonly upgrades = new Rows<UpgradeRow>();
  readonly spokes = new Rows<SpokeRow>();
  /** Members of the upgrade that is looked at. */
  readonly members = new Rows<MemberRow>();
  readonly #token: string;
  #following: AbortController | undefined;
  #looked: string | undefined;

  constructor(token: string) {
    this.#token = token;
    this.ask = createAsking(token);
  }

  /** Follows the fleet, and the members of one upgrade. */
  look(upgrade: string | undefined): void {
    if (this.#following && this.#looked === upgrade) return;
    this.#following?.abort();
    this.#looked = upgrade;
    this.members.clear();
    const following = new AbortController();
    this.#following = following;
    const onState = (state: LinkState): void => {
      this.link.value = state;
      if (state === 'refused') forgetToken();
    };
    const onHeard = (): void => {
      this.heardAt.value = Date.now();
    };
    void follow(this.#token, upgrade, following.signal, { onState, onHeard, onMessage: (message) => this.#take(message) });
  }

  #take({ server, viewer, rights, hub, unseen, upgrades, spokes, members }: StreamMessage): void {
    if (server !== undefined) this.server.value = server;
    if (viewer !== undefined) this.viewer.value = viewer;
    if (rights) this.rights.value = rights;
    if (hub) this.hub.value = hub;
    if (unseen) this.unseen.value = unseen;
    if (upgrades) this.upgrades.take(upgrades);
    if (spokes) this.spokes.take(spokes);
    if (members && members.upgrade === this.#looked) this.members.take(members.changes);
  }
}
