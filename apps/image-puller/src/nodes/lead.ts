import { randomBytes } from 'node:crypto';
import { errorMessage } from '@flotilla/api';
import { type NodeRules, PullerExit, type PullerReport } from '@flotilla/api/ran';
import { type Clock, pause } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import type { LinkCap } from '../link-cap.ts';
import { createChannelKey, serveChannel } from './channel.ts';
import { answerFollower, type Leading } from './follower-requests.ts';
import { describeFailed, type Expected, type FilledNode, type Member, Members, SILENT_MS, sumReports } from './members.ts';
import type { LeadPlace } from './messages.ts';
import { News } from './news.ts';
import { Orders } from './orders.ts';
import { type BlobSharing, createBlobServer, Peers, readPartials, type SharedBlobs } from './peer-blobs.ts';
import type { PodIdentity, RefusedToken } from './pod-token.ts';

const TICK_MS = 500;
const EXPECT_EVERY_MS = 15_000;
/** The same until the nodes are known: the account's rights may come after the pod. */
const EXPECT_FIRST_MS = 2_000;
const PUBLISH_AGAIN_MS = 1_000;
/** Milliseconds in which the other nodes hear of the end. */
const FAREWELL_MS = 4_000;
/** Milliseconds after which a node that would let go of its blobs is told that they are still needed: it asks again. */
const HAND_OVER_MS = 5_000;
/** Identity of the lead's own store among the others. */
const OWN = 'lead';

/** Dependencies of the lead. */
interface LeadOptions {
  readonly nodeName: string;
  readonly rules: NodeRules;
  /** Word for a node that is as it should be. */
  readonly goal: 'filled' | 'proven';
  /** Address of the pod, and ports of the lead and of its blobs; 0 takes a free one. */
  readonly address: string;
  readonly port: number;
  readonly blobPort: number;
  readonly cap: LinkCap;
  /** Undefined as long as it is not known. */
  readonly readExpected: (signal: AbortSignal) => Promise<Expected | undefined>;
  readonly verify: (token: string, signal: AbortSignal) => Promise<PodIdentity | RefusedToken>;
  /** Makes the lead known to the other nodes. */
  readonly publish: (place: LeadPlace, signal: AbortSignal) => Promise<void>;
  /** True when this run has had another lead before. */
  readonly succeeds: (signal: AbortSignal) => Promise<boolean>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Leads the pullers of one spoke: says who fetches what, spends the cap, and sums up the nodes. */
export class Lead implements AsyncDisposable {
  readonly #options: LeadOptions;
  readonly #stack = new AsyncDisposableStack();
  readonly #key = createChannelKey();
  /** Secret among the nodes of this run, for their blobs. */
  readonly #runKey = randomBytes(32);
  readonly #peers = new Peers({ identity: OWN, psk: this.#runKey });
  readonly #members: Members;
  readonly #orders: Orders;
  /** News of nodes that have ended. */
  readonly #ends: News;
  /** Names of nodes that fetch and copy nothing more, while others may need their blobs. */
  readonly #ended = new Set<string>();
  #isServing = false;
  /** The store of this node is open, whether it shares blobs or not. */
  #isOpen = false;
  #isGathered = false;
  /** Readings of the expected nodes so far, and the newest that counts. */
  #readings = 0;
  #newestReading = 0;
  #isOver = false;
  /** Sentence about the nodes that are not filled, at the end. */
  #problem: string | undefined;
  /** Time of the last judgement: nodes that have heard the end fall silent. */
  #judgedAt: number | undefined;

  constructor(options: LeadOptions) {
    const now = options.clock.now();
    this.#options = options;
    this.#ends = new News(options.clock);
    this.#orders = new Orders({ clock: options.clock, peers: this.#peers });
    this.#members = new Members({ ownName: options.nodeName, patienceMs: options.rules.patienceSeconds * 1_000, now });
  }

  /** Listens, reads the expected nodes, and makes itself known. */
  async start(): Promise<void> {
    const { address, port, nodeName, cap, verify, signal, clock, logger } = this.#options;
    this.#stack.use(this.#peers);
    const leading: Leading = {
      nodeName,
      cap,
      verify,
      signal,
      clock,
      logger,
      members: this.#members,
      orders: this.#orders,
      ends: this.#ends,
      ended: this.#ended,
      runKey: this.#runKey,
      isOver: () => this.#isOver,
      isNeeded: (node, until) => this.#isNeeded(node, until),
      expect: () => this.#expect(),
      gather: () => this.#gather(),
    };
    const keyOf = (identity: string): Buffer | undefined => this.#key.secretWith(identity);
    const server = this.#stack.use(
      await serveChannel({ address, port, keyOf, handle: (request, response) => answerFollower(leading, request, response) }),
    );
    if (await this.#succeeds()) this.#orders.succeed();
    await this.#expect();
    void this.#publish({ address, port: server.port, key: this.#key.publicKey });
    this.#keep();
  }

  /** A lead that cannot know it waits: that costs seconds, a layer that is fetched anew may cost minutes. */
  async #succeeds(): Promise<boolean> {
    const { succeeds, signal, logger } = this.#options;
    try {
      return await succeeds(signal);
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: errorMessage(error) }, 'Asking whether there was another lead failed');
      return true;
    }
  }

  /** Makes the lead known, and tries again for as long as it takes: this node is filled meanwhile. */
  async #publish(place: LeadPlace): Promise<void> {
    const { publish, signal, clock, logger } = this.#options;
    while (!signal.aborted && !this.#isOver) {
      try {
        await publish(place, signal);
        return this.#orders.published();
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: errorMessage(error) }, 'Making the lead known failed');
      }
      await pause(clock, PUBLISH_AGAIN_MS, signal);
    }
  }

  /** The sum of all nodes. */
  sum(own: PullerReport): PullerReport {
    const { nodeName } = this.#options;
    const others = this.#judge();
    const sum = sumReports(own, nodeName, others);
    const ownMessage = own.message !== undefined && others.length > 0 ? `${nodeName}: ${own.message}` : own.message;
    if (this.#problem === undefined) return ownMessage === undefined ? sum : { ...sum, message: ownMessage };
    const message = [ownMessage, this.#problem].filter((text) => text !== undefined).join('; ');
    return { ...sum, phase: 'failed', message };
  }

  /** Nodes besides the lead's own that have everything. */
  filled(): FilledNode[] {
    return this.#members.filled(this.#judgedAt ?? this.#options.clock.now());
  }

  #judge(): ReturnType<Members['judge']> {
    return this.#members.judge(this.#judgedAt ?? this.#options.clock.now());
  }

  /**
   * Waits until every expected node has ended or is absent for too long.
   * @returns `whole` when the others are, or their absence is no failure; `absent` when absence alone is wrong
   */
  async awaitNodes(): Promise<'whole' | 'failed' | 'absent'> {
    const { clock, signal, logger, rules, goal, nodeName } = this.#options;
    this.#ended.add(nodeName);
    this.#orders.retire(OWN);
    this.#ends.tell();
    while (this.#judge().some(({ verdict }) => verdict === 'pulling')) {
      await this.#ends.next({ signal });
      signal.throwIfAborted();
    }
    this.#judgedAt = clock.now();
    const nodes = this.#judge();
    for (const { name, verdict, message } of nodes) logger.info({ peer: name, verdict, message }, 'Node ended');
    const failed = nodes.filter(({ verdict }) => verdict === 'failed' || (verdict === 'absent' && rules.absent === 'fail'));
    if (failed.length === 0) return 'whole';
    this.#problem = describeFailed(failed, nodes.length + 1, goal);
    return failed.every(({ verdict }) => verdict === 'absent') ? 'absent' : 'failed';
  }

  /** Tells the other nodes that nobody takes blobs any more, for as long as they may need to hear it. */
  async end(): Promise<void> {
    const { clock } = this.#options;
    this.#isOver = true;
    this.#ends.tell();
    const until = clock.now() + FAREWELL_MS;
    const isWaiting = (): boolean => [...this.#members.all].some(({ hasHeardEnd, isSilent }) => !hasHeardEnd && !isSilent);
    while (isWaiting() && clock.now() < until) await this.#ends.next();
  }

  /** Sharing for the lead's own store. */
  sharing(): BlobSharing {
    const { nodeName } = this.#options;
    return {
      open: (blobs) => this.#openOwn(blobs),
      source: async (blob, signal) => {
        for (;;) {
          const order = await this.#orders.order(OWN, blob, signal);
          if (order.do !== 'wait') return order.do === 'fetch' ? 'registry' : order.from;
        }
      },
      stream: (peer, blob, options) => this.#peers.stream(peer, blob, options),
      grew: (digest, offset) => this.#orders.grows(OWN, digest, offset),
      has: async (blob) => this.#orders.tell(OWN, { ...blob, outcome: 'has' }),
      failed: async (blob, from) => this.#orders.tell(OWN, { ...blob, outcome: 'failed', from }),
      handOver: async (signal) => {
        while (await this.#isNeeded({ id: OWN, name: nodeName }, signal));
      },
    };
  }

  async #openOwn(blobs: SharedBlobs | undefined): Promise<void> {
    if (blobs && !this.#isServing) {
      const { address, blobPort } = this.#options;
      const handle = createBlobServer(blobs);
      const server = this.#stack.use(await serveChannel({ address, port: blobPort, keyOf: () => this.#runKey, handle }));
      this.#isServing = true;
      this.#orders.enter({ id: OWN, address, port: server.port }, await readPartials(blobs));
    }
    this.#isOpen = true;
    this.#gather();
  }

  /** True while a node that wants to let go of its blobs has some alone, and others are still being filled. */
  async #isNeeded({ id, name }: Pick<Member, 'id' | 'name'>, signal: AbortSignal): Promise<boolean> {
    const { clock, nodeName } = this.#options;
    const until = clock.now() + HAND_OVER_MS;
    this.#orders.retire(id);
    this.#ended.add(name);
    this.#ends.tell();
    for (;;) {
      const others = this.#judge().filter(({ verdict }) => verdict === 'pulling');
      const isAwaited = [nodeName, ...others.map((other) => other.name)].some((other) => !this.#ended.has(other));
      const isNeeded = isAwaited && this.#orders.isAlone(id);
      if (!isNeeded || clock.now() >= until) return isNeeded;
      await this.#ends.next({ signal });
      signal.throwIfAborted();
    }
  }

  /** Lets fetches begin once every node is there, this one too: it may have blobs, or parts of them. To judge all for each question would cost too much. */
  #gather(): void {
    if (this.#isGathered || !this.#isOpen || !this.#members.areGathered(this.#options.clock.now())) return;
    this.#isGathered = true;
    this.#orders.begin();
  }

  /** Notices silent nodes, and reads anew which nodes are expected. */
  #keep(): void {
    const { clock, signal } = this.#options;
    const ended = new AbortController();
    this.#stack.defer(() => ended.abort());
    const stop = AbortSignal.any([signal, ended.signal]);
    const keep = async (): Promise<void> => {
      let isReading = false;
      for (let expectedAt = clock.now(); ; ) {
        await pause(clock, TICK_MS, stop);
        if (stop.aborted) return;
        this.#gather();
        this.#noticeSilence();
        if (isReading || clock.now() - expectedAt < (this.#members.isKnown ? EXPECT_EVERY_MS : EXPECT_FIRST_MS)) continue;
        [expectedAt, isReading] = [clock.now(), true];
        void this.#expect().finally(() => {
          isReading = false;
        });
      }
    };
    void keep();
  }

  /** Sends nobody to nodes that say nothing more, and takes out those that are gone or have failed. */
  #noticeSilence(): void {
    const now = this.#options.clock.now();
    for (const member of this.#members.all) {
      const hasFailed = member.exitCode !== undefined && member.exitCode !== PullerExit.done && member.exitCode !== PullerExit.partlyDone;
      if (now - member.seenAt <= SILENT_MS && !hasFailed) continue;
      if (hasFailed || this.#members.isGone(member, now)) this.#orders.leave(member.id);
      else if (!member.isSilent) this.#orders.away(member.id);
      if (hasFailed) member.peer = undefined;
      else member.isSilent = true;
    }
  }

  async #expect(): Promise<void> {
    const { readExpected, signal, clock, logger } = this.#options;
    this.#readings += 1;
    const reading = this.#readings;
    try {
      const expected = await readExpected(signal);
      // A reading that was overtaken may lack a node for which the other was made.
      if (!expected || reading < this.#newestReading) return;
      this.#newestReading = reading;
      this.#members.expect(expected, clock.now());
      this.#gather();
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: errorMessage(error) }, 'Reading the expected nodes failed');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
