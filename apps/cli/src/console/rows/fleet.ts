import { Annotation, errorMessage, refKey, refOfKey } from '@flotilla/api';
import type { MemberRow, SpokeRow, StreamMessage, UpgradeRow } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { judgeHub } from '@flotilla/rollout';
import { RowTable } from './row-table.ts';
import type { Sources } from './sources.ts';
import { type Part, spokeRow } from './spoke-row.ts';
import { memberRows, upgradeRow } from './upgrade-row.ts';

/** Rows of the fleet, made of what the watches saw. Nothing is made until somebody asks for the changes. */
export class Fleet {
  readonly #sources: Sources;
  readonly #upgrades = new RowTable<UpgradeRow>();
  readonly #spokes = new RowTable<SpokeRow>();
  /** Members of upgrades that somebody looks at. */
  readonly #looked = new Map<string, RowTable<MemberRow>>();
  /** Upgrade to the part of each member. */
  readonly #parts = new Map<string, ReadonlyMap<string, MemberRow>>();
  /** Spoke to upgrades that it is in. */
  readonly #upgradesOf = new Map<string, Set<string>>();
  readonly #ended = new Set<string>();
  /** Upgrade to why no row can be made of it. */
  readonly #odd = new Map<string, string>();
  readonly #changedUpgrades = new Set<string>();
  readonly #changedSpokes = new Set<string>();
  #said: Pick<StreamMessage, 'hub' | 'unseen'> = {};

  constructor(sources: Sources) {
    this.#sources = sources;
    sources.upgrades.subscribe(({ object }) => this.#changedUpgrades.add(refKey(object.metadata)));
    sources.clusters.subscribe(({ object: { metadata } }) => this.#changedSpokes.add(metadata.name));
    sources.onListed(() => {
      for (const { metadata } of sources.upgrades.list()) this.#changedUpgrades.add(refKey(metadata));
    });
  }

  /** Something was seen that may have changed rows. */
  get isChanged(): boolean {
    return this.#changedUpgrades.size > 0 || this.#changedSpokes.size > 0;
  }

  /** Times have gone by: windows open, forecasts move, hubs fall silent. Nothing of that moves an upgrade that has ended. */
  age(): void {
    for (const { metadata, status } of this.#sources.upgrades.list())
      if (status?.status.completedAt === undefined) this.#changedUpgrades.add(refKey(metadata));
  }

  /** Makes the rows that may have changed. @returns one message for everybody, and one for each upgrade that is looked at */
  takeChanges(now: number): { message: StreamMessage; members: StreamMessage[] } {
    for (const spoke of this.#changedSpokes) for (const key of this.#upgradesOf.get(spoke) ?? []) this.#changedUpgrades.add(key);
    const touched = new Set(this.#changedSpokes);
    for (const key of this.#changedUpgrades) for (const spoke of this.#tryUpgrade(key, now)) touched.add(spoke);
    for (const spoke of touched) this.#makeSpoke(spoke);
    this.#changedUpgrades.clear();
    this.#changedSpokes.clear();
    const [upgrades, spokes] = [this.#upgrades.take(), this.#spokes.take()];
    const message = { ...this.#signs(now), ...(upgrades && { upgrades }), ...(spokes && { spokes }) };
    const members = [...this.#looked].flatMap(([upgrade, table]) => {
      const changes = table.take();
      return changes ? [{ members: { upgrade, changes } }] : [];
    });
    return { message, members };
  }

  /** Everything, for somebody who has nothing. Call it when the changes are taken. */
  whole(): StreamMessage {
    return { ...this.#said, upgrades: this.#upgrades.whole(), spokes: this.#spokes.whole() };
  }

  /** Members of an upgrade, in full. From now on their changes are said too. */
  look(upgrade: string): StreamMessage {
    const table = this.#looked.get(upgrade) ?? new RowTable<MemberRow>();
    this.#looked.set(upgrade, table);
    table.replace(this.#parts.get(upgrade)?.values() ?? []);
    table.take();
    return { members: { upgrade, changes: table.whole() } };
  }

  /** Nobody looks at its members any more. */
  lookAway(upgrade: string): void {
    this.#looked.delete(upgrade);
  }

  /** The parts of a spoke, the one that its row shows first. */
  partsOf(spoke: string): Part[] {
    const all = [...(this.#upgradesOf.get(spoke) ?? [])].flatMap((upgrade): Part[] => {
      const row = this.#parts.get(upgrade)?.get(spoke);
      return row ? [{ upgrade, row }] : [];
    });
    const retried = new Set(all.map(({ upgrade }) => this.#upgrade(upgrade)?.metadata.annotations?.[Annotation.retryOf]));
    const ranked = all.map((part) => ({ part, rank: this.#rank(part, retried.has(part.upgrade)) }));
    return ranked.toSorted((a, b) => (a.rank < b.rank ? 1 : -1)).map(({ part }) => part);
  }

  /** Failures that no retry has taken up come first, then upgrades that go on, then those that have ended, the latest of each first. */
  #rank({ upgrade, row }: Part, isRetried: boolean): string {
    const { creationTimestamp = '' } = this.#upgrade(upgrade)?.metadata ?? {};
    const kind = isRetried ? 0 : row.state === 'failed' ? 3 : this.#ended.has(upgrade) ? 1 : 2;
    return `${kind} ${creationTimestamp} ${upgrade}`;
  }

  #upgrade(key: string): ClusterGroupUpgrade | undefined {
    return this.#sources.upgrades.get(refOfKey(key));
  }

  /** One upgrade that nobody understands must not hide all others: its rows stay as they were, and the page says so. */
  #tryUpgrade(key: string, now: number): Set<string> {
    this.#odd.delete(key);
    try {
      return this.#makeUpgrade(key, now);
    } catch (error) {
      this.#odd.set(key, `ClusterGroupUpgrade ${key} cannot be shown as it is now: ${errorMessage(error)}`);
      return new Set();
    }
  }

  /** Spokes whose part has changed. */
  #makeUpgrade(key: string, now: number): Set<string> {
    const upgrade = this.#upgrade(key);
    const before = this.#parts.get(key);
    if (!upgrade) {
      this.#upgrades.drop(key);
      this.#parts.delete(key);
      this.#ended.delete(key);
      this.#sources.writtenAt.delete(key);
      for (const spoke of before?.keys() ?? []) this.#upgradesOf.get(spoke)?.delete(key);
      this.#looked.get(key)?.replace([]);
      return new Set(before?.keys());
    }
    const facts = this.#sources.facts(upgrade, now);
    const parts = memberRows(facts, before);
    this.#upgrades.put(upgradeRow(facts, this.#sources.writtenAt.get(key)));
    this.#parts.set(key, parts);
    this.#looked.get(key)?.replace(parts.values());
    const touched = this.#noteMembers(key, before, parts);
    // Spokes show an upgrade that goes on before one that has ended.
    return this.#noteEnd(key, upgrade) ? touched.union(new Set(parts.keys())) : touched;
  }

  /** True when it has ended since the last time, or goes on again. */
  #noteEnd(key: string, { status }: ClusterGroupUpgrade): boolean {
    const hasEnded = status?.status.completedAt !== undefined;
    if (hasEnded === this.#ended.has(key)) return false;
    if (hasEnded) this.#ended.add(key);
    else this.#ended.delete(key);
    return true;
  }

  #noteMembers(key: string, before: ReadonlyMap<string, MemberRow> | undefined, after: ReadonlyMap<string, MemberRow>): Set<string> {
    const touched = new Set<string>();
    for (const [spoke, row] of after) {
      if (before?.get(spoke) === row) continue;
      touched.add(spoke);
      const upgrades = this.#upgradesOf.get(spoke);
      if (upgrades) upgrades.add(key);
      else this.#upgradesOf.set(spoke, new Set([key]));
    }
    for (const spoke of before?.keys() ?? []) {
      if (after.has(spoke)) continue;
      this.#upgradesOf.get(spoke)?.delete(key);
      touched.add(spoke);
    }
    return touched;
  }

  #makeSpoke(name: string): void {
    const cluster = this.#sources.clusters.get({ name });
    const [part] = this.partsOf(name);
    if (cluster || part) this.#spokes.put(spokeRow(name, cluster, part));
    else this.#spokes.drop(name);
  }

  /** Signs of life that differ from those last said. */
  #signs(now: number): StreamMessage {
    const next = { hub: judgeHub(this.#sources.hub(), now), unseen: [...this.#sources.unseen(now), ...this.#odd.values()] };
    const isSame = JSON.stringify(next) === JSON.stringify(this.#said);
    this.#said = next;
    return isSame ? {} : next;
  }
}
