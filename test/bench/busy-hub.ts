/** A large hub whose objects change at a steady pace, as they do while many spokes pre-cache. */
import { conditionTime } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type PrecacheState } from '@flotilla/api/ran';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { mapConcurrently } from '@flotilla/pace';
import type { Client } from '@flotilla/runtime';

/** Pace of changes; each is of one spoke. */
interface BusyRate {
  /** A second, in all. */
  readonly changes: number;
  /** Of these, by writes of ManagedClusters; the others are gathered in the statuses of upgrades, each written once a second. */
  readonly direct: number;
}

/** States that a spoke goes through, again and again. */
const STATES: readonly PrecacheState[] = ['NotStarted', 'PreparingToStart', 'Starting', 'Active', 'Succeeded'];
const TICK_MS = 50;
const AT_ONCE = 24;
/** Writes that are under way at most: a server that does not answer is not flooded until it dies. What is beyond is due and not written. */
const MOST_UNDER_WAY = 2_000;
/** Rows at the top of the list are left to whoever measures. */
export const PROBES = 8;

/** Objects of a hub, and their changes. */
export class BusyHub {
  readonly names: readonly string[];
  readonly #client: Client;
  readonly #upgrades: readonly string[];
  readonly #rate: BusyRate;
  /** Spoke to where it stands. */
  readonly #states = new Map<string, PrecacheState>();
  #holding = true;
  #due = 0;
  #written = 0;
  #failed = 0;
  #round = 0;
  #under = 0;

  constructor(client: Client, spokes: number, upgrades: number, rate: BusyRate) {
    this.#client = client;
    this.#rate = rate;
    this.names = Array.from({ length: spokes }, (_, index) => `site-${String(index + 1).padStart(5, '0')}`);
    this.#upgrades = Array.from({ length: upgrades }, (_, index) => `large-${index + 1}`);
  }

  /** Changes that should have been written by now, that were, and requests that failed. */
  get counts(): { readonly due: number; readonly written: number; readonly failed: number } {
    return { due: this.#due, written: this.#written, failed: this.#failed };
  }

  /** Creates everything: spokes with what a real one says of itself, and upgrades in the middle of pre-caching. */
  async furnish(): Promise<void> {
    const { names } = this;
    await registerSpokes(this.#client, names);
    const claims = Array.from({ length: 20 }, (_, index) => ({ name: `claim-${index}.example.com`, value: `value of claim ${index}` }));
    const now = conditionTime(Date.now());
    const message = 'The message that an agent of a real spoke writes here, of the usual length.';
    const conditions = [
      'HubAcceptedManagedCluster',
      'ManagedClusterJoined',
      'ManagedClusterImportSucceeded',
      'ManagedClusterConditionAvailable',
    ].map((type) => ({ type, status: 'True', reason: 'AsItShouldBe', message, lastTransitionTime: now }));
    const status = { conditions, clusterClaims: claims, version: { kubernetes: 'v1.34.2' }, allocatable: { cpu: '16', memory: '64Gi' } };
    await mapConcurrently(names, AT_ONCE, (name) =>
      this.#client.patch(ManagedCluster, { name }, { status }, { type: 'merge', subresource: 'status' }),
    );
    await this.#client.create(Lease, {
      metadata: { name: 'flotilla-hub', namespace: 'default' },
      spec: { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime: `${new Date().toISOString().slice(0, -1)}000Z` },
    } as never);
    await mapConcurrently(this.#upgrades, 4, (upgrade) => this.#createUpgrade(upgrade, now));
  }

  async #createUpgrade(name: string, now: string): Promise<void> {
    const members = this.#membersOf(name);
    const metadata = { name, namespace: 'default' };
    const spec = {
      clusters: members,
      manifestWorkTemplates: ['template'],
      preCaching: true,
      enable: false,
      remediationStrategy: { maxConcurrency: 50, timeout: 240 },
    };
    await this.#client.create(ClusterGroupUpgrade, { metadata, spec } as never);
    for (const [index, member] of members.entries()) this.#states.set(member, STATES[index % STATES.length] ?? 'NotStarted');
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: reason,
      lastTransitionTime: now,
    });
    const status = {
      conditions: [
        condition('ClustersSelected', 'True', 'ClusterSelectionCompleted'),
        condition('Validated', 'True', 'ValidationCompleted'),
        condition('PrecacheSpecValid', 'True', 'PrecacheSpecIsWellFormed'),
        condition('PrecachingSuceeded', 'False', 'InProgress'),
      ],
      computedMaxConcurrency: 50,
      remediationPlan: Array.from({ length: Math.ceil(members.length / 50) }, (_, at) => members.slice(at * 50, (at + 1) * 50)),
      precaching: { status: Object.fromEntries(members.map((member) => [member, this.#states.get(member)])) },
      status: {},
    };
    await this.#client.patch(ClusterGroupUpgrade, metadata, { status }, { type: 'merge', subresource: 'status' });
  }

  #membersOf(upgrade: string): string[] {
    const at = this.#upgrades.indexOf(upgrade);
    const share = Math.ceil(this.names.length / this.#upgrades.length);
    return this.names.slice(at * share, (at + 1) * share);
  }

  /** Changes objects until the signal aborts, in an open loop: what is late is written all the same. */
  start(signal: AbortSignal): void {
    const begun = performance.now();
    let ticks = 0;
    let held = 0;
    const timer = setInterval(() => {
      const by = Math.floor((performance.now() - begun) / TICK_MS);
      for (; ticks < by; ticks += 1) {
        if (this.#holding) held += 1;
        else this.#tick(ticks - held);
      }
    }, TICK_MS);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Goes on. */
  go(): void {
    this.#holding = false;
  }

  /** Stands still; resolves when everything is written. */
  async hold(): Promise<void> {
    this.#holding = true;
    while (this.#under > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  #tick(tick: number): void {
    const perSecond = 1000 / TICK_MS;
    const direct = this.#rate.direct / perSecond;
    const from = Math.floor(tick * direct);
    for (let at = from; at < Math.floor((tick + 1) * direct); at += 1) {
      const name = this.names[PROBES + ((at * 7919) % (this.names.length - PROBES))] ?? '';
      const patch = { metadata: { labels: { openshiftVersion: `4.18.${at % 1000}` } } };
      this.#send(1, () => this.#client.patch(ManagedCluster, { name }, patch, { type: 'merge' }));
    }
    // The upgrades take turns, so that no second begins with all of them.
    const turn = Math.floor((tick * this.#upgrades.length) / perSecond);
    const next = Math.floor(((tick + 1) * this.#upgrades.length) / perSecond);
    for (let at = turn; at < next; at += 1) this.#advance(this.#upgrades[at % this.#upgrades.length] ?? '');
  }

  #advance(upgrade: string): void {
    const members = this.#membersOf(upgrade);
    const count = Math.round((this.#rate.changes - this.#rate.direct) / this.#upgrades.length);
    const changed: Record<string, PrecacheState> = {};
    for (let at = 0; at < Math.min(count, members.length); at += 1) {
      const member = members[(this.#round + at) % members.length] ?? '';
      const state = STATES[(STATES.indexOf(this.#states.get(member) ?? 'NotStarted') + 1) % STATES.length] ?? 'NotStarted';
      this.#states.set(member, state);
      changed[member] = state;
    }
    this.#round += Math.round(count / this.#upgrades.length) + 1;
    const status = { precaching: { status: changed } };
    const ref = { namespace: 'default', name: upgrade };
    this.#send(Object.keys(changed).length, () =>
      this.#client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' }),
    );
  }

  #send(changes: number, write: () => Promise<unknown>): void {
    this.#due += changes;
    if (this.#under >= MOST_UNDER_WAY) return;
    this.#under += 1;
    void write()
      .then(
        () => {
          this.#written += changes;
        },
        () => {
          this.#failed += 1;
        },
      )
      .finally(() => {
        this.#under -= 1;
      });
  }
}
