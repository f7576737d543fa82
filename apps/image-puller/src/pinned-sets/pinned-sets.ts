import { errorMessage, Label } from '@flotilla/api';
import { MachineConfigNode, MachineConfigPool, PinnedImageSet, POOL_ROLE } from '@flotilla/api/machine';
import { PIN_LIFE_MS } from '@flotilla/api/ran';
import { type Clock, pause } from '@flotilla/pace';
import { type Client, isAlreadyExists, isForbidden, isNotFound, type Logger } from '@flotilla/runtime';
import { findDegraded, findUnfilled, type PoolFacts, pinnedNodes, planSets, type WantedSet } from './plan.ts';

/** Annotation of a set: time after which any later run removes it. */
const UNTIL = 'flotilla.io/pinned-until';
/** Milliseconds between two looks at nodes and pools. */
const LOOK_MS = 2_000;
const CALL_MS = 10_000;

/** Dependencies of the sets of one upgrade. */
interface SetsDeps {
  readonly cluster: Client;
  /** Uid of the upgrade. */
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Images to be pinned. */
interface PinAsk {
  readonly names: readonly string[];
  /** Nodes that have all of it: a set would have any other pull it by itself, without a cap. */
  readonly filled: readonly string[];
  /** A pull makes sets. A proof only renews those that are there: one that was taken back must not come again. */
  readonly makes: boolean;
  /** Most milliseconds for which the nodes are waited for. */
  readonly patienceMs: number;
}

/** Nothing is pinned, and the message says why. */
class NothingPinned extends Error {}

/** PinnedImageSets of one upgrade, by which the machine config operator of its cluster has CRI-O pin images. */
export class PinnedSets {
  readonly #deps: SetsDeps;

  constructor(deps: SetsDeps) {
    this.#deps = deps;
  }

  /** Pins images, and waits until the nodes say so. Returns what is not pinned, for the report; undefined where all is. */
  async pin(ask: PinAsk): Promise<string | undefined> {
    const { signal, logger } = this.#deps;
    try {
      return await this.#pin(ask);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: errorMessage(error) }, 'Pinning by PinnedImageSets failed');
      return `none: ${await this.#takeBack(reasonOf(error))}`;
    }
  }

  /**
   * Removes the sets of the upgrade, and those of others that nobody has renewed. Images stay. A cluster that does not know the kind has none.
   * @throws ApiError where the cluster refuses
   */
  async remove(): Promise<void> {
    const { owner, clock } = this.#deps;
    const isOver = ({ metadata: { labels, annotations } }: PinnedImageSet): boolean =>
      labels?.[Label.upgradeUid] === owner || !(Date.parse(annotations?.[UNTIL] ?? '') > clock.now());
    await this.#delete((await this.#list().catch(orNone)).filter(isOver));
  }

  async #pin({ names, filled, makes, patienceMs }: PinAsk): Promise<string | undefined> {
    const { owner } = this.#deps;
    const existing = await this.#list();
    const own = existing.filter(({ metadata }) => metadata.labels?.[Label.upgradeUid] === owner);
    if (!makes && own.length === 0) throw new NothingPinned('its PinnedImageSets are gone, and the next pull makes them');
    const facts = await this.#facts();
    const degraded = findDegraded(facts);
    if (degraded !== undefined) throw new NothingPinned(degraded);
    const unfilled = findUnfilled(facts, filled);
    if (unfilled !== undefined) throw new NothingPinned(`node ${unfilled} was not filled, and a set would have it pull`);
    const { sets, left } = planSets(names, facts.pools, owner);
    if (sets.length === 0)
      throw new NothingPinned(facts.nodes.length === 0 ? 'no pool has nodes' : 'no name has a digest and the form of a set');
    for (const set of sets) await this.#write(set);
    const wanted = new Set(sets.map(({ name }) => name));
    await this.#delete(own.filter(({ metadata }) => !wanted.has(metadata.name)));
    const late = await this.#awaitNodes(wanted, patienceMs);
    return late ?? (left.length > 0 ? `${names.length - left.length} of ${names.length}: no set takes ${left[0]}` : undefined);
  }

  /** Waits for the verdict of the nodes. Returns how far they are at the end of the patience. */
  async #awaitNodes(wanted: ReadonlySet<string>, patienceMs: number): Promise<string | undefined> {
    const { clock, signal, logger } = this.#deps;
    for (const until = clock.now() + patienceMs; ; ) {
      const sets = (await this.#list()).filter(({ metadata }) => wanted.has(metadata.name));
      if (sets.length < wanted.size) throw new NothingPinned('somebody else has removed its PinnedImageSets');
      const facts = await this.#facts();
      const degraded = findDegraded(facts);
      if (degraded !== undefined) throw new NothingPinned(degraded);
      const pinned = pinnedNodes(facts, sets).length;
      if (pinned === facts.nodes.length) {
        logger.info({ sets: [...wanted], nodes: pinned }, 'Pinned by PinnedImageSets');
        return undefined;
      }
      if (clock.now() >= until) return `${pinned} of ${facts.nodes.length} nodes say so after ${Math.round(patienceMs / 1_000)} s`;
      await pause(clock, LOOK_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** Writes a set, or renews it. One of the same name that is not this upgrade's stays. */
  async #write({ name, role, images }: WantedSet): Promise<void> {
    const { cluster, owner, clock } = this.#deps;
    const until = new Date(clock.now() + PIN_LIFE_MS).toISOString();
    const metadata = { name, labels: { [POOL_ROLE]: role, [Label.upgradeUid]: owner }, annotations: { [UNTIL]: until } };
    const spec = { pinnedImages: images.map((image) => ({ name: image })) };
    const { apiVersion, kind } = PinnedImageSet;
    try {
      await cluster.create(PinnedImageSet, { apiVersion, kind, metadata, spec }, this.#call());
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await cluster.get(PinnedImageSet, { name }, this.#call());
      if (found?.metadata.labels?.[Label.upgradeUid] !== owner) throw new NothingPinned(`PinnedImageSet ${name} is somebody else's`);
      const { uid, resourceVersion } = found.metadata;
      await cluster.patch(
        PinnedImageSet,
        { name },
        { metadata: { ...metadata, uid, resourceVersion }, spec },
        { type: 'merge', ...this.#call() },
      );
    }
  }

  /** Removes the sets of the upgrade after a failure, which would keep their pools degraded. Returns the reason, and what became of them. */
  async #takeBack(reason: string): Promise<string> {
    const { owner, signal } = this.#deps;
    try {
      const own = (await this.#list()).filter(({ metadata }) => metadata.labels?.[Label.upgradeUid] === owner);
      await this.#delete(own);
      return own.length > 0 ? `taken back, ${reason}` : reason;
    } catch (error) {
      signal.throwIfAborted();
      return isNotFound(error) || isForbidden(error) ? reason : `NOT taken back (${reasonOf(error)}), ${reason}`;
    }
  }

  async #delete(sets: readonly PinnedImageSet[]): Promise<void> {
    const { cluster, logger } = this.#deps;
    for (const { metadata } of sets) {
      const { name, uid } = metadata;
      await cluster.delete(PinnedImageSet, { name }, { ...this.#call(), ...(uid !== undefined && { uid }) });
    }
    if (sets.length > 0) logger.info({ sets: sets.map(({ metadata }) => metadata.name) }, 'Removed PinnedImageSets');
  }

  /** Sets of all upgrades. */
  async #list(): Promise<PinnedImageSet[]> {
    const { items } = await this.#deps.cluster.list(PinnedImageSet, { labelSelector: Label.upgradeUid, ...this.#call() });
    return items;
  }

  async #facts(): Promise<PoolFacts> {
    const { cluster } = this.#deps;
    const { items: pools } = await cluster.list(MachineConfigPool, this.#call());
    const { items: nodes } = await cluster.list(MachineConfigNode, this.#call());
    return { pools, nodes };
  }

  #call() {
    return { signal: this.#deps.signal, timeoutMs: CALL_MS };
  }
}

const orNone = (error: unknown): [] => {
  if (isNotFound(error)) return [];
  throw error;
};

/** Says why in few characters: a report has room for a line. */
function reasonOf(error: unknown): string {
  if (isNotFound(error)) return 'this cluster has no PinnedImageSet';
  if (isForbidden(error)) return 'no right to PinnedImageSets (rbac.pinnedImageSets of chart spoke)';
  return errorMessage(error);
}
