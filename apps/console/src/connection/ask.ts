import {
  ActionRequest,
  ChangeAnswer,
  EventsAnswer,
  LimitsLane,
  PlanAnswer,
  Refusal,
  SpokeAnswer,
  WhyAnswer,
  WindowParts,
} from '@flotilla/api/answers';
import type { z } from 'zod';
import { call } from './call.ts';
import { credentialOf } from './token.ts';

/** Questions that the server answers. Each throws an Error whose message says the next step. */
export interface Asking {
  /** @param cluster the upgrade as a whole when absent */
  readonly why: (upgrade: string, cluster?: string) => Promise<WhyAnswer>;
  /** @param most so many of them */
  readonly limits: (most: number) => Promise<LimitsLane>;
  readonly events: (upgrade: string) => Promise<EventsAnswer>;
  /** @param wish what the view varies: rate, batchMinutes, images */
  readonly plan: (upgrade: string, wish: Readonly<Record<string, string>>) => Promise<PlanAnswer>;
  readonly spoke: (name: string) => Promise<SpokeAnswer>;
  /** The window that an upgrade has. */
  readonly window: (upgrade: string) => Promise<WindowParts>;
  readonly act: (request: ActionRequest) => Promise<ChangeAnswer>;
}

/** Images of a plan are looked up in their registries, one after the other. */
const PLAN_MS = 300_000;
/** A change is answered when a hub has taken it up. */
const ACT_MS = 90_000;

/** Asks with a token. */
export function createAsking(token: string): Asking {
  const headers = credentialOf(token);
  const get = async <T>(path: string, query: Record<string, string>, schema: z.ZodType<T>, timeoutMs?: number): Promise<T> =>
    read(await call(`${path}?${new URLSearchParams(query)}`, { headers }, timeoutMs), schema);
  return {
    why: (upgrade, cluster) => get('/api/why', { upgrade, ...(cluster !== undefined && { cluster }) }, WhyAnswer),
    limits: (most) => get('/api/limits', { most: String(most) }, LimitsLane),
    events: (upgrade) => get('/api/events', { upgrade }, EventsAnswer),
    plan: (upgrade, wish) => get('/api/plan', { ...wish, upgrade }, PlanAnswer, PLAN_MS),
    spoke: (name) => get('/api/spoke', { name }, SpokeAnswer),
    window: (upgrade) => get('/api/window', { upgrade }, WindowParts),
    async act(request) {
      const body = JSON.stringify(ActionRequest.parse(request));
      const sent = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
      return read(await call('/api/actions', sent, ACT_MS), ChangeAnswer);
    },
  };
}

function read<T>({ status, answer }: Awaited<ReturnType<typeof call>>, schema: z.ZodType<T>): T {
  if (answer === undefined) throw new Error(`the server answered ${status} with a page: reload, and log in`);
  if (status === 200) return schema.parse(answer);
  throw new Error(Refusal.safeParse(answer).data?.error ?? `the server answered ${status}`);
}
