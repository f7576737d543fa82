/** Checks the condition of a step, and whether the upgrade waits, when a service that it needs does not do as it should. */
import { ClusterVersion } from '@flotilla/api/config';
import { MachineConfigPool } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { createPrometheus } from '@flotilla/http';
import { answer, cut, half, type Reply, say, silence, startHostileService } from '@flotilla/http/testing';
import { createChannel, createLogger, systemClock } from '@flotilla/runtime';
import type { StepName } from '@flotilla/upgrade';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createAlertmanager } from './clients/alertmanager.ts';
import { createDependencyProbe } from './clients/dependencies.ts';
import { createOcm } from './clients/ocm.ts';
import { createDeploymentValidation } from './health/disruption-budgets.ts';
import { createHealthChecks } from './health/health-checks.ts';
import { createSilences } from './maintenance/silences.ts';
import { createProvider } from './managers/provider.ts';
import { createOperatorMetrics } from './metrics/upgrade-metrics.ts';
import { createNotifier } from './notify/notifier.ts';
import { readOperatorConfig } from './operator-config/read-config.ts';
import type { Ports } from './ports.ts';
import { walkSteps } from './reconcilers/upgrade-config/apply.ts';
import { Timers } from './reconcilers/upgrade-config/retries.ts';
import { UpgradeDraft } from './reconcilers/upgrade-config/status.ts';
import type { StepContext } from './steps/step.ts';
import { stepsOf } from './upgraders.ts';

const SECRET = 'top-secret-credential';
const logger = createLogger({ name: 'test', level: 'silent' });
/** Timeout of a call. On a busy machine an answer may take a while; a silent service is given up soon. */
const [LONG_MS, SHORT_MS] = [15_000, 200];
const patienceWith = (reply: Reply): number => (reply === silence ? SHORT_MS : LONG_MS);
const retry = { attempts: 2, baseMs: 1, maxMs: 5 };
const upgradeConfig = UpgradeConfig.schema.parse({
  metadata: { name: 'managed-upgrade-config', namespace: 'n', uid: 'u' },
  spec: {
    type: 'OSD',
    upgradeAt: '2026-01-01T00:00:00Z',
    PDBForceDrainTimeout: 60,
    desired: { version: '4.14.12', channel: 'stable-4.14' },
  },
});
const clusterVersion = ClusterVersion.schema.parse({ metadata: { name: 'version' }, spec: { clusterID: 'external-1' } });
const pool = MachineConfigPool.schema.parse({
  metadata: { name: 'worker' },
  spec: { configuration: { name: 'rendered-2' } },
  status: { machineCount: 2, updatedMachineCount: 0, configuration: { name: 'rendered-1' } },
});

/** Address of each service. */
interface Places {
  readonly prometheus: URL;
  readonly alertmanager: URL;
  readonly validation: URL;
  readonly dependency: URL;
  readonly ocm: URL;
  /** It is the agent in the cluster that is asked, and that is at `ocm`. Default false. */
  readonly viaAgent?: boolean;
}
const AGENT = 'http://ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081';
const everywhere = (url: URL): Places => ({ prometheus: url, alertmanager: url, validation: url, dependency: url, ocm: url });

function surroundingsAt(places: Places, timeoutMs: number, gates: readonly string[] = []) {
  const common = { clock: systemClock, retry, timeoutMs };
  const at = (url: URL) => ({ ...common, url: async () => url, authorize: async () => `Bearer ${SECRET}` });
  const config = readOperatorConfig(
    JSON.stringify({
      nodeDrain: { timeOut: 45 },
      configManager: { source: 'OCM', ocmBaseUrl: places.viaAgent ? AGENT : places.ocm.href },
      extDependencyAvailabilityChecks: { http: { timeout: 1, urls: [places.dependency.href] } },
      featureGate: { enabled: gates },
    }),
  );
  const source = { current: () => ({ config }) };
  const identity = async () => ({ clusterId: 'external-1', token: SECRET });
  // The agent's name leads nowhere here: the proxy is the service.
  const way = places.viaAgent ? { baseUrl: AGENT, proxy: { http: places.ocm.href } } : { baseUrl: places.ocm.href };
  const ocm = () => createOcm({ ...common, ...way, identity });
  const nothing = () => Promise.reject(new Error('not asked here'));
  const validation = createDeploymentValidation(at(places.validation));
  const health = createHealthChecks({
    prometheus: createPrometheus(at(places.prometheus)),
    budgets: { list: async () => [], validation: (signal) => validation.metrics(signal) },
    report: () => undefined,
    versionOf: () => undefined,
  });
  const ports: Ports = {
    config: { ...source, watch: createChannel() },
    health,
    silences: createSilences(createAlertmanager(at(places.alertmanager)), systemClock),
    dependencies: { check: ({ urls }, signal) => createDependencyProbe(common).check({ urls, timeout: timeoutMs / 1000 }, signal) },
    cachedReleases: { read: nothing },
    notifier: createNotifier({ config: source, ocm, logger }),
    provider: createProvider({
      client: {
        get: async () => undefined,
        list: async () => ({ items: [], resourceVersion: '' }),
        create: nothing,
        patch: nothing,
        delete: nothing,
      },
      namespace: 'n',
      config: source,
      ocm,
      logger,
    }),
    alerts: { paging: nothing },
    nodes: { stuck: async () => [] },
    releases: { versionOf: nothing, updates: nothing },
    metrics: createOperatorMetrics(new Registry(), () => undefined),
    events: { record: () => undefined },
  };
  return { ports, config };
}

/** Walks one step and returns its condition, and whether the steps behind it are begun. */
async function walk(step: StepName, places: Places, timeoutMs = LONG_MS, gates: readonly string[] = []) {
  const { ports, config } = surroundingsAt(places, timeoutMs, gates);
  const steps = stepsOf('OSD', { cacheProof: { required: false, maxAge: 60 } }).filter(({ name }) => name === step);
  const draft = new UpgradeDraft(upgradeConfig, clusterVersion, () => Date.now());
  const told: string[] = [];
  const never = () => Promise.reject(new Error('not done here'));
  const context = (): StepContext => ({
    upgradeConfig,
    entry: draft.entry,
    target: { kind: 'version', version: '4.14.12', channel: 'stable-4.14' },
    cluster: { clusterVersion, clusterOperators: [], pools: [pool], nodes: [], machineSets: [], machines: [] },
    isCommenced: false,
    whileAsked: (act) => act(),
    config,
    nowMs: Date.now(),
    ports,
    writes: { patchClusterVersion: never, createMachineSet: never, deleteMachineSet: never, reinitFileIntegrity: never },
    drains: { force: never },
    notify: async (state, detail) => {
      told.push(`${state} ${detail}`);
      return { isTold: true };
    },
    logger,
    signal: new AbortController().signal,
  });
  const { isDone } = await walkSteps(steps, draft, context, new Timers());
  return { condition: draft.entry.conditions?.[0], isDone, told };
}

/** Behaviour of a service, and the words that have to stand in the condition. */
const OUTAGES: { outage: string; reply: Reply; why: RegExp }[] = [
  { outage: 'cuts connections', reply: cut, why: /other side closed|ECONNRESET|socket/i },
  { outage: 'never answers', reply: silence, why: /no complete answer within 200 ms|no time left/ },
  { outage: 'answers 401', reply: say('who are you', 401), why: /401/ },
  { outage: 'answers 429', reply: say('slowly', 429), why: /429/ },
  { outage: 'answers 500', reply: say('broken', 500), why: /500/ },
  {
    outage: 'sends half an answer',
    reply: half('{"status":"success","data":{"resultType":"vector","result":[]}}'),
    why: /other side closed|terminated|aborted/,
  },
];
const WRONG: typeof OUTAGES = [
  { outage: 'sends a page', reply: say('<html>welcome</html>'), why: /not JSON/ },
  { outage: 'sends other JSON', reply: answer({ hello: 'world' }), why: /not a query result|not an answer of this service/ },
  {
    outage: 'sends an error document',
    reply: answer({ status: 'error', errorType: 'internal', error: 'full' }),
    why: /internal: full|not an answer of this service/,
  },
];
const steps: { step: StepName; does: 'waits' | 'goes on'; outages: typeof OUTAGES }[] = [
  ...(['check-health-before', 'check-health-after', 'open-control-plane-window', 'open-workers-window'] as const).map((step) => ({
    step,
    does: 'waits' as const,
    outages: [...OUTAGES, ...WRONG],
  })),
  // Silences run out by themselves.
  ...(['close-control-plane-window', 'close-workers-window'] as const).map((step) => ({
    step,
    does: 'goes on' as const,
    outages: [...OUTAGES, ...WRONG],
  })),
  // Only whether it answers matters, not what.
  { step: 'check-dependencies', does: 'waits', outages: OUTAGES.filter(({ outage }) => outage !== 'sends half an answer') },
];

describe.each(steps)('$step $does', ({ step, does, outages }) => {
  test.each(outages)('beside a service that $outage, and says so', async ({ reply, why }) => {
    await using service = await startHostileService(reply);
    const { condition, isDone } = await walk(step, everywhere(service.url), patienceWith(reply));
    expect(isDone).toBe(does === 'goes on');
    expect(condition).toMatchObject({ status: 'False', message: expect.stringMatching(why) });
    expect(condition?.message).not.toContain(SECRET);
  });

  test('beside a service that is not there, and says so', async () => {
    const service = await startHostileService(200);
    await service[Symbol.asyncDispose]();
    const { condition, isDone } = await walk(step, everywhere(service.url));
    expect(isDone).toBe(does === 'goes on');
    expect(condition).toMatchObject({ status: 'False', message: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('the extended health check', () => {
  const noAlerts = answer({ status: 'success', data: { resultType: 'vector', result: [] } });
  test.each([...OUTAGES, { outage: 'is cut off', reply: cut, why: /./ }])(
    'goes on when the deployment validation operator $outage, and has it told',
    async ({ reply }) => {
      await using prometheus = await startHostileService(noAlerts);
      await using validation = await startHostileService(reply);
      const places = { ...everywhere(prometheus.url), validation: validation.url };
      const { isDone, told } = await walk('check-health-before', places, patienceWith(reply), ['PreHealthCheck']);
      expect(isDone).toBe(true);
      expect(told).toEqual(['StateHealthCheckSL PDBHealthcheckFailed: []']);
    },
  );

  test('does not go on without Prometheus', async () => {
    await using prometheus = await startHostileService(500);
    const { isDone, told } = await walk('check-health-before', everywhere(prometheus.url), LONG_MS, ['PreHealthCheck']);
    expect(isDone).toBe(false);
    expect(told).toEqual(['StateHealthCheckSL CriticalAlertsHealthcheckFailed,PDBHealthcheckFailed: []']);
  });
});

describe.each([
  { who: 'OCM', viaAgent: false },
  { who: 'OCM agent', viaAgent: true },
])('$who', ({ who, viaAgent }) => {
  const { signal } = new AbortController();
  const at = (url: URL): Places => ({ ...everywhere(url), viaAgent });
  // A cluster without an id is what the agent gives where it knows none.
  const outages = [...OUTAGES, ...WRONG.slice(0, viaAgent ? 1 : 2)];
  const entry = { version: '4.14.12', phase: 'Upgrading' as const };

  test.each(outages)('that $outage leaves a notification to be told later, with the reason', async ({ reply }) => {
    await using service = await startHostileService(reply);
    const { ports } = surroundingsAt(at(service.url), patienceWith(reply));
    await expect(ports.notifier.notify({ state: 'StateStarted', upgradeConfig, entry }, signal)).rejects.toMatchObject({
      code: 'FLOTILLA_NOTIFICATION_FAILED',
      message: expect.stringContaining(`can't send notification 'StateStarted': failed to retrieve internal ocm cluster ID: ${who}: GET /`),
    });
  });

  test.each(outages)('that $outage holds an upgrade that has not begun, with the reason', async ({ reply, why }) => {
    await using service = await startHostileService(reply);
    const { ports } = surroundingsAt(at(service.url), patienceWith(reply));
    await expect(ports.provider.refresh(signal)).rejects.toMatchObject({
      code: 'FLOTILLA_PROVIDER_FAILED',
      message: expect.stringMatching(/^unable to retrieve upgrade spec: OCM Provider unavailable: /),
    });
    expect(ports.provider.problem()).toEqual({ reason: 'ProviderUnavailable', message: expect.stringMatching(why) });
    expect(ports.provider.problem()?.message).not.toContain(SECRET);
  });

  test('that is not there holds an upgrade that has not begun, with the reason', async () => {
    const service = await startHostileService(200);
    await service[Symbol.asyncDispose]();
    const { ports } = surroundingsAt(at(service.url), LONG_MS);
    await expect(ports.provider.refresh(signal)).rejects.toThrow('ECONNREFUSED');
    expect(ports.provider.problem()).toEqual({ reason: 'ProviderUnavailable', message: expect.stringContaining('ECONNREFUSED') });
  });

  test('that does not know the cluster holds an upgrade that has not begun, and a notification', async () => {
    await using service = await startHostileService(answer(viaAgent ? {} : { total: 0, items: [] }));
    const { ports } = surroundingsAt(at(service.url), LONG_MS);
    await expect(ports.provider.refresh(signal)).rejects.toThrow('OCM did not return a valid cluster ID');
    await expect(ports.notifier.notify({ state: 'StateStarted', upgradeConfig, entry }, signal)).rejects.toThrow(
      'failed to retrieve internal ocm cluster ID: OCM did not return a valid cluster ID',
    );
  });
});
