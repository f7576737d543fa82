import { createPrometheus, ServiceErrorCode } from '@flotilla/http';
import { answer, cut, half, type Reply, say, silence, startHostileService } from '@flotilla/http/testing';
import { systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { createDeploymentValidation } from '../health/disruption-budgets.ts';
import { createAlertmanager } from './alertmanager.ts';
import { createDependencyProbe } from './dependencies.ts';
import { createOcm } from './ocm.ts';

const SECRET = 'top-secret-credential';
/** On a busy machine an answer may take a while; who never answers is given up soon. */
const [LONG_MS, SHORT_MS] = [15_000, 250];
const within = (timeoutMs: number) => ({ clock: systemClock, retry: { attempts: 2, baseMs: 1, maxMs: 5 }, timeoutMs });
const authorize = async () => `Bearer ${SECRET}`;
const identity = async () => ({ clusterId: 'external-1', token: SECRET });
const SILENCE = { matchers: [], startsAt: '', endsAt: '', createdBy: 'me', comment: 'why' };

const LOG = { summary: 's', description: 'd' };
/** Its name leads nowhere here: the proxy is the service. */
const agentAt = (url: URL, common: ReturnType<typeof within>) =>
  createOcm({
    ...common,
    baseUrl: 'http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081',
    identity,
    proxy: { http: url.href },
  });

/** One call of each external client. */
const CALLS: Readonly<Record<string, (url: URL, common: ReturnType<typeof within>) => Promise<unknown>>> = {
  'OCM cluster': (url, common) => createOcm({ ...common, baseUrl: url.href, identity }).cluster(),
  'OCM policies': (url, common) => createOcm({ ...common, baseUrl: url.href, identity }).policies('c'),
  'OCM policy state': (url, common) => createOcm({ ...common, baseUrl: url.href, identity }).policyState('c', 'p'),
  'OCM state write': (url, common) =>
    createOcm({ ...common, baseUrl: url.href, identity }).setPolicyState('c', 'p', { value: 'started', description: '' }),
  'OCM service log': (url, common) => createOcm({ ...common, baseUrl: url.href, identity }).ensureServiceLog('c', LOG),
  'OCM agent cluster': (url, common) => agentAt(url, common).cluster(),
  'OCM agent policies': (url, common) => agentAt(url, common).policies('c'),
  'OCM agent policy state': (url, common) => agentAt(url, common).policyState('c', 'p'),
  'OCM agent state write': (url, common) => agentAt(url, common).setPolicyState('c', 'p', { value: 'started', description: '' }),
  'OCM agent service log': (url, common) => agentAt(url, common).ensureServiceLog('c', LOG),
  'Prometheus query': (url, common) => createPrometheus({ ...common, authorize, url: async () => url }).query('up'),
  'Alertmanager silences': (url, common) => createAlertmanager({ ...common, authorize, url: async () => url }).silences(),
  'Alertmanager create': (url, common) => createAlertmanager({ ...common, authorize, url: async () => url }).put(SILENCE),
  'Alertmanager expire': (url, common) => createAlertmanager({ ...common, authorize, url: async () => url }).expire('id'),
  'deployment validation': (url, common) => createDeploymentValidation({ ...common, url: async () => url }).metrics(),
  'external dependency': (url, common) =>
    createDependencyProbe(common).check({ urls: [url.href], timeout: common.timeoutMs / 1000 }, new AbortController().signal),
};
/** Those that read no JSON, or nothing at all. */
const READS_NO_JSON = new Set([
  ...['OCM state write', 'OCM agent state write', 'OCM agent service log'],
  ...['Alertmanager expire', 'deployment validation', 'external dependency'],
]);

/** Calls that send the secret; the others cannot recognise it in a refusal. */
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

/** The agent's answer at its root is always read as a cluster, so other JSON is an unknown one. */
const codeOf = (call: string, outage: string, code: string) =>
  call === 'OCM agent cluster' && outage === 'sends other JSON' ? 'FLOTILLA_OCM_CLUSTER_UNKNOWN' : code;
const cases = Object.keys(CALLS).flatMap((call) =>
  [...OUTAGES, ...(READS_NO_JSON.has(call) ? [] : WRONG)].map(({ outage, reply, code }) => ({
    call,
    outage,
    reply,
    code: codeOf(call, outage, code),
  })),
);

test.each(cases)('$call against a service that $outage', async ({ call, reply, code }) => {
  await using service = await startHostileService(reply);
  const error = await CALLS[call]?.(service.url, within(reply === silence ? SHORT_MS : LONG_MS)).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code });
  if (SENDS_SECRET.has(call)) expect(String(error)).not.toContain(SECRET);
});

test.each(Object.keys(CALLS))('%s against a port where nobody listens', async (call) => {
  const service = await startHostileService(200);
  await service[Symbol.asyncDispose]();
  await expect(CALLS[call]?.(service.url, within(LONG_MS))).rejects.toMatchObject({ code: ServiceErrorCode.unreachable });
});
