import { ActionRequest, ChangeAnswer, EventsAnswer, PlanAnswer, Refusal, SpokeAnswer, WhyAnswer } from '@flotilla/api/answers';
import type { z } from 'zod';
import { credentialOf } from './token.ts';

/** Questions that the server answers. Each throws an Error whose message says the next step. */
export interface Asking {
  /** @param cluster the upgrade as a whole when absent */
  readonly why: (upgrade: string, cluster?: string) => Promise<WhyAnswer>;
  readonly events: (upgrade: string) => Promise<EventsAnswer>;
  /** @param wish what the view varies: rate, batchMinutes, images */
  readonly plan: (upgrade: string, wish: Readonly<Record<string, string>>) => Promise<PlanAnswer>;
  readonly spoke: (name: string) => Promise<SpokeAnswer>;
  readonly act: (request: ActionRequest) => Promise<ChangeAnswer>;
}

/** Asks with a token. */
export function createAsking(token: string): Asking {
  const headers = credentialOf(token);
  const get = async <T>(path: string, query: Record<string, string>, schema: z.ZodType<T>): Promise<T> =>
    read(await fetch(`${path}?${new URLSearchParams(query)}`, { headers }), schema);
  return {
    why: (upgrade, cluster) => get('/api/why', { upgrade, ...(cluster !== undefined && { cluster }) }, WhyAnswer),
    events: (upgrade) => get('/api/events', { upgrade }, EventsAnswer),
    plan: (upgrade, wish) => get('/api/plan', { ...wish, upgrade }, PlanAnswer),
    spoke: (name) => get('/api/spoke', { name }, SpokeAnswer),
    async act(request) {
      const body = JSON.stringify(ActionRequest.parse(request));
      return read(
        await fetch('/api/actions', { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }),
        ChangeAnswer,
      );
    },
  };
}

async function read<T>(response: Response, schema: z.ZodType<T>): Promise<T> {
  const answer: unknown = await response.json().catch(() => undefined);
  if (answer === undefined) throw new Error(`the server answered ${response.status} with a page: reload, and log in`);
  if (response.ok) return schema.parse(answer);
  throw new Error(Refusal.safeParse(answer).data?.error ?? `the server answered ${response.status}`);
}
