import { Secret } from '@flotilla/api/core';
import { type Clock, createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { keepToken, type TokenDeps } from './token.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;

/** Builds a token as API servers do: its middle part has the validity. */
function token(fromMs: number, lifeMs: number): string {
  const claims = { iat: fromMs / 1000, exp: (fromMs + lifeMs) / 1000 };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
}

const kubeconfig = (value: string): string =>
  JSON.stringify({ clusters: [{ name: 'hub' }], users: [{ name: 'agent', user: { token: value } }], 'current-context': 'hub' });

const Patch = z.object({ stringData: z.record(z.string(), z.string()) });
const Lifetime = z.object({ spec: z.object({ expirationSeconds: z.number() }) });

/** Fakes a hub that issues tokens, a spoke with the Secret, and a kubelet that writes the file five minutes later. */
async function run(options: {
  readonly file: string;
  readonly untilMs: number;
  readonly fails?: (atMs: number) => boolean;
  /** Step of the clock after a time, milliseconds. */
  readonly steps?: (atMs: number) => number;
}) {
  const stopping = new AbortController();
  let now = START;
  let file = options.file;
  const renewals: number[] = [];
  const stored: { ref: unknown; at: number; text: string }[] = [];
  const clock: Clock = {
    now: () => now,
    setTimer(ms, fn) {
      setImmediate(() => {
        now += ms + (options.steps?.(now + ms - START) ?? 0);
        if (now - START > options.untilMs) stopping.abort();
        fn();
      });
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const deps: TokenDeps = {
    clusterName: 'spoke-1',
    kubeconfigPath: '/hub',
    secret: { namespace: 'flotilla', name: 'hub', key: 'kubeconfig' },
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
    random: () => 0,
    async read() {
      const mounted = stored.findLast(({ at }) => now - at >= 5 * 60_000);
      if (mounted) file = mounted.text;
      return file;
    },
    hub: {
      async request(method, path, call) {
        if (options.fails?.(now - START)) throw new Error('unreachable');
        expect([method, path]).toEqual(['POST', '/api/v1/namespaces/spoke-1/serviceaccounts/spoke-agent/token']);
        renewals.push(now - START);
        return { status: { token: token(now, Lifetime.parse(call?.body).spec.expirationSeconds * 1000) } };
      },
    },
    spoke: {
      async patch(kind, ref, patch) {
        expect(kind.kind).toBe(Secret.kind);
        stored.push({ ref, at: now, text: Patch.parse(patch).stringData.kubeconfig ?? '' });
        return kind.schema.parse({ metadata: { name: 'hub' } });
      },
    },
  };
  await keepToken(deps, stopping.signal);
  return { renewals, stored };
}

test('a token of an hour is renewed on a machine that sleeps for 40 minutes', async () => {
  let slept = false;
  const steps = (at: number): number => {
    if (slept || at < 10 * 60_000) return 0;
    slept = true;
    return 40 * 60_000;
  };
  const { renewals } = await run({ file: kubeconfig(token(START, HOUR)), untilMs: HOUR, steps });
  expect(renewals[0]).toBeLessThan(HOUR);
});

test('a token is renewed once in each half of its life, and keeps its length', async () => {
  const { renewals, stored } = await run({ file: kubeconfig(token(START, 20 * HOUR)), untilMs: 35 * HOUR });
  expect(renewals).toEqual([10 * HOUR, 20 * HOUR, 30 * HOUR]);
  expect(stored.map(({ ref }) => ref)).toEqual(renewals.map(() => ({ namespace: 'flotilla', name: 'hub' })));
  expect(JSON.parse(stored[0]?.text ?? '')).toEqual(JSON.parse(kubeconfig(token(START + 10 * HOUR, 20 * HOUR))));
});

test('a hub that is away is asked again until it answers', async () => {
  const { renewals } = await run({
    file: kubeconfig(token(START, 20 * HOUR)),
    untilMs: 14 * HOUR,
    fails: (at) => at < 13 * HOUR,
  });
  expect(renewals).toEqual([13 * HOUR]);
});

test.each([
  { name: 'is no JSON', file: 'apiVersion: v1' },
  { name: 'has a token that does not say how long it lives', file: kubeconfig('static') },
])('a kubeconfig that $name is left alone', async ({ file }) => {
  expect(await run({ file, untilMs: 5 * HOUR })).toEqual({ renewals: [], stored: [] });
});
