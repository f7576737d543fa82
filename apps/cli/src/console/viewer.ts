import { isDeepStrictEqual } from 'node:util';
import type { StreamMessage } from '@flotilla/api/answers';
import { type Client, pause, systemClock } from '@flotilla/runtime';
import { z } from 'zod';
import type { AskDeps } from './asks.ts';
import { askRights } from './rights.ts';
import { Feed } from './rows/feed.ts';
import { Fleet } from './rows/fleet.ts';
import { Sources, type View } from './rows/sources.ts';

/** One person's look at the fleet: what their credential may read, and nothing else. */
export interface Viewer {
  readonly feed: Feed;
  readonly deps: AskDeps;
  /** Said to every page once. */
  readonly greeting: StreamMessage;
  /** Aborts when the look ends. */
  readonly ended: AbortSignal;
  /** Tells whether the API server still knows the credential, and allows what it allowed. Throws when it does not say. */
  isStillSo(): Promise<boolean>;
}

/** Longest wait for the first lists. */
const LISTED_MS = 5_000;
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const Review = z.looseObject({ status: z.looseObject({ userInfo: z.looseObject({ username: z.string() }) }) });

/** Begins to watch with a client's credential, until the signal aborts. Throws the API server's refusal of the credential. */
export async function openViewer(client: Client, view: View, ended: AbortSignal): Promise<Viewer> {
  // The name first: for a token that nobody knows it is the only call.
  const ask = async () => ({ viewer: await askName(client), rights: await askRights(client, view) });
  const first = await ask();
  const { rights } = first;
  const { hubNamespace } = view;
  const sources = new Sources({ client, rights, ...view });
  const fleet = new Fleet(sources);
  const feed = new Feed(fleet);
  sources.start(ended);
  feed.start(ended);
  await listed(sources, ended);
  return {
    feed,
    deps: { client, hubNamespace, fleet, sources },
    greeting: { server: client.server, ...first },
    ended,
    isStillSo: async () => isDeepStrictEqual(await ask(), first),
  };
}

/** Waits for the lists of a quick server, since without them little is known of a row; a page waits 10 s for its first words. */
async function listed(sources: Sources, ended: AbortSignal): Promise<void> {
  const isOver = new AbortController();
  // Watches that end before they listed anything end the look too.
  const all = sources
    .synced()
    .catch(() => undefined)
    .finally(() => isOver.abort());
  await Promise.race([all, pause(systemClock, LISTED_MS, AbortSignal.any([ended, isOver.signal]))]);
}

/** The name by which the API server knows the asker. */
async function askName(client: Client): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  return Review.parse(await client.request('POST', REVIEWS, { body })).status.userInfo.username;
}
