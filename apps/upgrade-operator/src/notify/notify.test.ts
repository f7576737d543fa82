import { NotificationState, UpgradeCondition, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { type ClusterManager, startClusterManager } from '@flotilla/control-plane/servers';
import { createLogger, type EventToRecord, systemClock } from '@flotilla/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOcm, type OcmClient } from '../clients/ocm.ts';
import { readOperatorConfig } from '../operator-config/read-config.ts';
import type { Notification } from '../ports.ts';
import { createNotifier } from './notifier.ts';
import { isAllowed, stateOf } from './ocm-notifier.ts';
import { descriptionOf, serviceLogOf } from './texts.ts';

const VERSION = '4.14.12';
const AT = '2026-01-01T00:00:00Z';
const upgradeConfig = UpgradeConfig.schema.parse({
  metadata: { name: 'managed-upgrade-config', namespace: 'n' },
  spec: { type: 'OSD', upgradeAt: AT, PDBForceDrainTimeout: 60, desired: { version: VERSION, channel: 'stable-4.14' } },
});
const entryWith = (...open: { type: string; message?: string }[]): UpgradeHistory => ({
  version: VERSION,
  phase: 'Upgrading',
  conditions: open.map((condition) => ({ ...condition, status: 'False' as const })),
});
const about = (state: NotificationState, more: Partial<Notification> = {}): Notification => ({
  state,
  upgradeConfig,
  entry: entryWith(),
  ...more,
});

describe('what is told', () => {
  const { healthyBefore, dependenciesAvailable, capacityReserved, isClusterUpgradable } = UpgradeCondition;
  test.each([undefined, healthyBefore, dependenciesAvailable, capacityReserved, UpgradeCondition.commenced])(
    'a delay by %s says that it is tried again',
    (type) => expect(descriptionOf(about('StateDelayed', { entry: entryWith(...(type ? [{ type }] : [])) }))).toContain('retry'),
  );
  test('a drain links to what can be done, and is read back as the reference reads its own', () => {
    const description = descriptionOf(about('StateDelayed', { detail: 'drain' }));
    expect(description).toContain('https://access.redhat.com/solutions/7075425');
    expect(stateOf({ value: 'delayed', description })).toBe('StateSkipped');
  });
  test.each(['StateWorkerPlaneFinishedSL', 'StateCompleted'] as const)('%s names the pools that were left behind', (state) => {
    expect(descriptionOf(about(state))).not.toContain('paused');
    expect(descriptionOf(about(state, { detail: 'infra, gpu' }))).toContain('paused machine config pools (infra, gpu)');
    expect(descriptionOf(about(state, { detail: 'infra, gpu' }))).not.toMatch(/^All workers/);
  });
  test('an early check says for which moment: another moment is another text', () => {
    expect(descriptionOf(about('StatePreHealthCheckSL', { detail: 'x' }))).toContain(AT);
  });
  test.each(['StateSkipped', 'StateScaleSkipped'] as const)('%s does not promise to try again', (state) =>
    expect(descriptionOf(about(state))).not.toContain('retry'),
  );
  test('a failure for want of upgradeability is told in its own words', () => {
    expect(descriptionOf(about('StateFailed', { entry: entryWith({ type: isClusterUpgradable, message: 'because' }) }))).toBe('because');
  });
  test('the reasons of failures differ', () => {
    const texts = [undefined, healthyBefore, dependenciesAvailable, capacityReserved].map((type) =>
      descriptionOf(about('StateFailed', { entry: entryWith(...(type ? [{ type }] : [])) })),
    );
    expect(new Set(texts).size).toBe(4);
    expect(texts[0]).toContain('did not pass verification');
  });
  test.each(Object.values(NotificationState))('%s names the version', (state) => {
    expect(descriptionOf(about(state))).toContain(VERSION);
  });
  test.each(['StateHealthCheckSL', 'StatePreHealthCheckSL'] as const)('%s holds what was found and an article', (state) => {
    expect(serviceLogOf(about(state, { detail: 'PDBHealthcheckFailed: []' }))).toMatchObject({
      description: expect.stringContaining('PDBHealthcheckFailed: []'),
      docReferences: ['https://access.redhat.com/solutions/7081505'],
    });
  });
});

test.each([
  ['StateScheduled', ['StateStarted']],
  ['StateStarted', ['StateScaleSkipped', 'StateDelayed', 'StateCompleted', 'StateFailed']],
  ['StateScaleSkipped', ['StateDelayed', 'StateFailed', 'StateSkipped', 'StateCompleted']],
  ['StateDelayed', ['StateCompleted', 'StateFailed', 'StateSkipped']],
  ['StateSkipped', ['StateCompleted', 'StateFailed']],
  ['StatePending', []],
  ['StateCompleted', []],
  ['StateFailed', []],
  ['StateCancelled', []],
] as const)('from %s a policy goes on to %j alone', (from, to) => {
  expect(
    Object.values(NotificationState)
      .filter((state) => isAllowed(from, state))
      .toSorted(),
  ).toEqual(to.toSorted());
});

test.each([
  ['scheduled', '', 'StateScheduled'],
  ['Started', '', 'StateStarted'],
  ['delayed', 'we will retry', 'StateDelayed'],
  ['delayed', 'skipped', 'StateSkipped'],
  ['completed', '', 'StateCompleted'],
  ['failed', '', 'StateFailed'],
  ['pending', '', 'StatePending'],
  ['cancelled', '', 'StateCancelled'],
  ['paused', '', undefined],
] as const)('OCM state %s with %j is %s', (value, description, want) => expect(stateOf({ value, description })).toBe(want));

describe('OCM is told', () => {
  const { signal } = new AbortController();
  let manager: ClusterManager;
  let ocm: OcmClient;
  const configFor = (gates: string[]) => ({
    config: readOperatorConfig(
      JSON.stringify({
        nodeDrain: { timeOut: 45 },
        configManager: { source: 'OCM', ocmBaseUrl: manager.url },
        featureGate: { enabled: gates },
      }),
    ),
  });
  const notify = (notification: Notification, gates: string[] = []) =>
    createNotifier({
      config: { current: () => configFor(gates) },
      ocm: () => ocm,
      logger: createLogger({ name: 'test', level: 'silent' }),
    }).notify(notification, signal);
  beforeEach(async () => {
    manager = await startClusterManager({ externalId: 'e', token: 't' });
    manager.setPolicies([
      { id: 'other', version: VERSION, next_run: '2026-01-02T00:00:00Z' },
      { id: 'p', version: VERSION, next_run: '2026-01-01T01:00:00.000+01:00' },
    ]);
    const retry = { attempts: 1, baseMs: 1, maxMs: 1 };
    ocm = createOcm({ baseUrl: manager.url, identity: async () => ({ clusterId: 'e', token: 't' }), clock: systemClock, retry });
  });
  afterEach(async () => {
    await ocm[Symbol.asyncDispose]();
    await manager.stop();
  });

  test('of an upgrade from its start to its end, each state once', async () => {
    for (const state of ['StateStarted', 'StateStarted', 'StateDelayed', 'StateSkipped', 'StateCompleted', 'StateCompleted'] as const)
      await notify(about(state));
    expect(manager.written).toEqual(['p: started', 'p: delayed', 'p: delayed', 'p: completed']);
  });

  test('and so is who looks at the events of the UpgradeConfig, once it was told', async () => {
    const events: EventToRecord[] = [];
    const record = (event: EventToRecord) => void events.push(event);
    const logger = createLogger({ name: 'test', level: 'silent' });
    const notifier = createNotifier({ config: { current: () => configFor([]) }, ocm: () => ocm, record, logger });
    manager.setFaults({ status: 500, times: 1 });
    await expect(notifier.notify(about('StateStarted'), signal)).rejects.toThrow();
    expect(events).toEqual([]);
    await notifier.notify(about('StateStarted'), signal);
    await notifier.notify(about('StateDelayed'), signal);
    expect(events).toMatchObject([
      { type: 'Normal', reason: 'UpgradeStarted', action: 'Notify', regarding: { kind: 'UpgradeConfig', namespace: 'n' } },
      { type: 'Warning', reason: 'UpgradeDelayed', note: expect.stringContaining('is delayed') },
    ]);
  });

  test.each(['2026-01-01T00:00:00.123456Z', '2026-01-01T01:00:00.9+01:00'])('of the policy whose next_run is %s', async (next_run) => {
    manager.setPolicies([{ id: 'p', version: VERSION, next_run }]);
    await notify(about('StateStarted'));
    expect(manager.written).toEqual(['p: started']);
  });

  test('nothing of a policy that somebody cancelled', async () => {
    manager.setState('p', 'cancelled');
    await notify(about('StateStarted'));
    expect(manager.written).toEqual([]);
  });

  test('a later state only after an earlier one', async () => {
    const notifications = [{ state: 'StateStarted' }, { state: 'StateCompleted' }];
    const later = about('StateCompleted', { entry: { ...entryWith(), notifications } });
    await expect(notify(later)).rejects.toThrow(
      "can't send notification 'StateCompleted': can't send notification: StateStarted has to be told first",
    );
    expect(manager.requests).toEqual([]);
    await notify(about('StateStarted', { entry: { ...entryWith(), notifications } }));
    await notify({
      ...later,
      entry: { ...entryWith(), notifications: [{ state: 'StateStarted', time: AT }, { state: 'StateCompleted' }] },
    });
    expect(manager.written).toEqual(['p: started', 'p: completed']);
  });

  test('service logs where the gate is on, once', async () => {
    for (let i = 0; i < 2; i++) await notify(about('StateControlPlaneStartedSL'), ['ServiceLogNotification']);
    expect(manager.serviceLogs.map(({ summary }) => summary)).toEqual(['Cluster upgrade: control plane started']);
    expect(manager.written).toEqual([]);
  });

  test('service logs of another attempt at the same version', async () => {
    const attempt = (startTime: string) => about('StateControlPlaneStartedSL', { entry: { ...entryWith(), startTime } });
    for (const startTime of ['2026-01-01T00:00:00Z', new Date(Date.now() + 60_000).toISOString()])
      await notify(attempt(startTime), ['ServiceLogNotification']);
    expect(manager.serviceLogs).toHaveLength(2);
  });

  test('no service log where the gate is off, and OCM is not asked', async () => {
    await notify(about('StateControlPlaneStartedSL'));
    expect(manager.requests).toEqual([]);
  });

  test.each([
    {
      name: 'no policy fits',
      prepare: () => manager.setPolicies([]),
      want: "can't send notification 'StateStarted': can't determine policy ID to notify for: no policy matches the current UpgradeConfig",
    },
    {
      name: 'the cluster is unknown',
      prepare: () => manager.setKnown(false),
      want: "can't send notification 'StateStarted': failed to retrieve internal ocm cluster ID: OCM did not return a valid cluster ID: pull-secret may be invalid OR cluster's owner is disabled/banned in OCM",
    },
    {
      name: 'the state is refused',
      prepare: () => manager.setFaults({ path: /^PATCH/, status: 500 }),
      want: /^can't send notification 'StateStarted': can't send notification: can't set upgrade policy state: request to '.*' returned error 'status is 500, identifier is '500' and code is 'CLUSTERS-MGMT-500': played by a test'$/,
    },
    {
      name: 'the state is unknown',
      prepare: () => manager.setState('p', 'paused'),
      want: "can't send notification 'StateStarted': failed to convert OCM state \"paused\"",
    },
  ])('why not, when $name', async ({ prepare, want }) => {
    prepare();
    await expect(notify(about('StateStarted'))).rejects.toThrow(want);
  });
});
