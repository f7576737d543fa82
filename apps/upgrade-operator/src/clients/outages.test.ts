import { systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createAlertmanager } from './alertmanager.ts';
import { createDependencyProbe } from './dependencies.ts';
import { createDeploymentValidation } from './deployment-validation.ts';
import { ServiceErrorCode } from './errors.ts';
import { answer, cut, half, type Reply, say, silence, startHostileService } from './hostile-service.ts';
import { createOcm } from './ocm.ts';
import { createPrometheus } from './prometheus.ts';

const SECRET = 'top-secret-credential';
const common = { clock: systemClock, retry: { retries: 1, baseMs: 1, jitter: 0, maxMs: 5 }, timeoutMs: 250 };
const authorize = async () => `Bearer ${SECRET}`;
const identity = async () => ({ clusterId: 'external-1', token: SECRET });
const SILENCE = { matchers: [], startsAt: '', endsAt: '', createdBy: 'me', comment: 'why' };

/** One call of each external client. */
const CALLS: Readonly<Record<string, (url: URL) => Promise<unknown>>> = {
  'OCM cluster': (url) => createOcm({ ...common, baseUrl: url.href, identity }).cluster(),
  'OCM policies': (url) => createOcm({ ...common, baseUrl: url.href, identity }).policies('c'),
  'OCM policy state': (url) => createOcm({ ...common, baseUrl: url.href, identity }).policyState('c', 'p'),
  'OCM state write': (url) =>
    createOcm({ ...common, baseUrl: url.href, identity }).setPolicyState('c', 'p', { value: 'started', description: '' }),
  'Prometheus query': (url) => createPrometheus({ ...common, authorize, url: async () => url }).query('up'),
  'Alertmanager silences': (url) => createAlertmanager({ ...common, authorize, url: async () => url }).silences(),
  'Alertmanager create': (url) => createAlertmanager({ ...common, authorize, url: async () => url }).put(SILENCE),
  'Alertmanager expire': (url) => createAlertmanager({ ...common, authorize, url: async () => url }).expire('id'),
  'deployment validation': (url) => createDeploymentValidation({ ...common, url: async () => url }).metrics(),
  'external dependency': (url) => createDependencyProbe(common).check([url.href], 0.25),
};
/** Those that read no JSON, or nothing at all. */
const READS_NO_JSON = new Set(['OCM state write', 'Alertmanager expire', 'deployment validation', 'external dependency']);

/** What the others are told in refusals they cannot know to be one. */
const SENDS_SECRET = new Set(Object.keys(CALLS).filter((call) => /^(OCM|Prometheus|Alertmanager)/.test(call)));

const OUTAGES: { outage: string; reply: Reply; code: string }[] = [
  { outage: 'cuts connections', reply: cut, code: ServiceErrorCode.unreachable },
  { outage: 'never answers', reply: silence, code: ServiceErrorCode.timeout },
  { outage: 'answers 401', reply: answer({ message: `no ${SECRET}` }, 401), code: ServiceErrorCode.unauthorized },
  { outage: 'answers 429', reply: 429, code: ServiceErrorCode.throttled },
  { outage: 'answers 500', reply: say(`failed for ${SECRET}`, 500), code: ServiceErrorCode.unavailable },
  { outage: 'sends half an answer', reply: half(JSON.stringify({ status: 'success', items: [] })), code: ServiceErrorCode.unreachable },
];
const WRONG: typeof OUTAGES = [
  { outage: 'sends a page', reply: say('<html>welcome</html>'), code: ServiceErrorCode.badAnswer },
  { outage: 'sends other JSON', reply: answer({ hello: 'world', result: [] }), code: ServiceErrorCode.badAnswer },
  { outage: 'sends nothing', reply: 200, code: ServiceErrorCode.badAnswer },
];

const cases = Object.keys(CALLS).flatMap((call) =>
  [...OUTAGES, ...(READS_NO_JSON.has(call) ? [] : WRONG)].map((outage) => ({ call, ...outage })),
);

test.each(cases)('$call against a service that $outage', async ({ call, reply, code }) => {
  await using service = await startHostileService(reply);
  const error = await CALLS[call]?.(service.url).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code });
  if (SENDS_SECRET.has(call)) expect(String(error)).not.toContain(SECRET);
});

test.each(Object.keys(CALLS))('%s against a port where nobody listens', async (call) => {
  const service = await startHostileService(200);
  await service[Symbol.asyncDispose]();
  await expect(CALLS[call]?.(service.url)).rejects.toMatchObject({ code: ServiceErrorCode.unreachable });
});
