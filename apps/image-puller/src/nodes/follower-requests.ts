import type { ServerResponse } from 'node:http';
import type { Clock } from '@flotilla/pace';
import type { Logger } from '@flotilla/runtime';
import type { LinkCap } from '../link-cap.ts';
import type { ChannelRequest } from './channel.ts';
import type { Member, Members } from './members.ts';
import { Ask, Beat, Bytes, Join, Tell } from './messages.ts';
import type { News } from './news.ts';
import type { Orders } from './orders.ts';
import type { PodIdentity, RefusedToken } from './pod-token.ts';

/** Milliseconds for which the answer to a node that has ended is held back, until all have. */
const HOLD_MS = 5_000;
/** Most nodes of a spoke. */
const MAX_MEMBERS = 5_000;

/** The lead, as far as the pullers of the other nodes ask it. */
export interface Leading {
  readonly nodeName: string;
  readonly members: Members;
  readonly orders: Orders;
  /** News of nodes that have ended. */
  readonly ends: News;
  /** Names of nodes that fetch and copy nothing more, while others may need their blobs. */
  readonly ended: Set<string>;
  /** Secret among the nodes of this run, for their blobs. */
  readonly runKey: Buffer;
  readonly cap: LinkCap;
  readonly verify: (token: string, signal: AbortSignal) => Promise<PodIdentity | RefusedToken>;
  readonly isOver: () => boolean;
  /** True while a node that wants to let go of its blobs has some alone. */
  readonly isNeeded: (node: Pick<Member, 'id' | 'name'>, signal: AbortSignal) => Promise<boolean>;
  /** Reads the expected nodes anew. */
  readonly expect: () => Promise<void>;
  /** Lets fetches begin once every node is there. */
  readonly gather: () => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Answers what the puller of another node asks of the lead. */
export async function answerFollower(lead: Leading, request: ChannelRequest, response: ServerResponse): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const signal = AbortSignal.any([closed.signal, lead.signal]);
  const answer = await answerOf(lead, request, signal);
  if (response.destroyed) return;
  if (typeof answer === 'number') return void response.writeHead(answer).end();
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

/** Returns an answer, or the status of a refusal. */
async function answerOf(lead: Leading, request: ChannelRequest, signal: AbortSignal): Promise<object | number> {
  const { members, orders, cap } = lead;
  if (request.method !== 'POST') return 405;
  const body = await request.json();
  if (request.path === '/join') return joinNode(lead, request, { join: Join.safeParse(body).data, signal });
  const member = members.of(request.identity);
  if (!member) return 401;
  see(lead, member);
  switch (request.path) {
    case '/beat':
      return takeBeat(lead, member, { beat: Beat.safeParse(body).data, signal });
    case '/ask': {
      const blob = Ask.safeParse(body).data;
      return blob && member.peer ? orders.order(member.id, blob, signal) : 400;
    }
    case '/tell': {
      const told = Tell.safeParse(body).data;
      if (!told) return 400;
      orders.tell(member.id, told);
      return {};
    }
    case '/hand-over':
      return { isNeeded: await lead.isNeeded(member, signal) };
    case '/bytes': {
      const wanted = Bytes.safeParse(body).data;
      if (!wanted) return 400;
      return { bytes: await cap.take(wanted.bytes, signal) };
    }
    default:
      return 404;
  }
}

async function joinNode(
  { members, orders, ended, runKey, verify, clock, logger, nodeName, cap, ...lead }: Leading,
  { identity, address }: ChannelRequest,
  { join, signal }: { readonly join: Join | undefined; readonly signal: AbortSignal },
): Promise<object | number> {
  if (!join) return 403;
  const pod = await verify(join.token, signal);
  if ('refusal' in pod) {
    members.refuse(pod.node?.name ?? join.node, pod.refusal);
    return 403;
  }
  const name = pod.node?.name ?? join.node;
  const id = pod.node?.uid ?? name;
  const before = members.find(id);
  if (!before && [...members.all].length >= MAX_MEMBERS) return 503;
  const isBeside = name === nodeName;
  const joined = { id, key: runKey.toString('base64url'), isBeside, bytesPerSecond: cap.bytesPerSecond };
  if (isBeside) return joined;
  const peer = join.port === undefined ? undefined : { id, address, port: join.port };
  if (before?.identity !== identity) ended.delete(name);
  const member = members.join({ id, name, identity, peer, isOpen: join.isOpen }, clock.now());
  // A node that was added just now is waited for, however soon the others end.
  if (!members.expects(member)) await lead.expect();
  // Another process of the node has joined meanwhile.
  if (members.of(identity) !== member) return joined;
  if (member.peer) orders.enter(member.peer, join.partials);
  else if (join.isOpen) orders.leave(id);
  else orders.away(id);
  lead.gather();
  if (before?.identity !== identity) logger.info({ peer: name }, 'A node has joined');
  return joined;
}

function see({ orders, clock }: Leading, member: Member): void {
  member.seenAt = clock.now();
  if (!member.isSilent) return;
  member.isSilent = false;
  if (member.peer) orders.enter(member.peer);
}

/** Takes a report. A node that has ended only waits for the end of all, so its answer is held back until then. */
async function takeBeat(
  { orders, ends, clock, cap, ...lead }: Leading,
  member: Member,
  { beat, signal }: { readonly beat: Beat | undefined; readonly signal: AbortSignal },
): Promise<object | number> {
  if (!beat) return 400;
  const now = clock.now();
  if (beat.exitCode !== member.exitCode) {
    orders.retire(member.id);
    ends.tell();
  }
  Object.assign(member, { report: beat.report, exitCode: beat.exitCode });
  for (const [digest, offset] of Object.entries(beat.fetching)) orders.grows(member.id, digest, offset);
  while (beat.exitCode !== undefined && !lead.isOver() && !signal.aborted && clock.now() < now + HOLD_MS) await ends.next({ signal });
  member.hasHeardEnd = lead.isOver() && !signal.aborted;
  if (lead.isOver()) ends.tell();
  return { isOver: lead.isOver(), bytesPerSecond: cap.bytesPerSecond };
}
