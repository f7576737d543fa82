import { findCondition } from '@flotilla/api';
import { ClusterOperator, ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, CustomResourceDefinition, Event, Namespace } from '@flotilla/api/core';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { type ApiServer, startApiServer, startUpdateService, type UpdateService } from '@flotilla/control-plane/servers';
import { type FakeOperators, startFakeOperators } from '@flotilla/control-plane/simulators';
import { settled } from '@flotilla/pace/testing';
import { UpdateError } from '@flotilla/release';
import { buildReleased } from '@flotilla/release/testing';
import { type Client, createClient, createLogger, createMetrics, type Metrics, systemClock } from '@flotilla/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { smallImage, smallRelease, smallScript } from '../testing/small-release-builders.ts';
import { runVersionOperator } from './operator.ts';

const VERSIONS = ['4.20.1', '4.20.2', '4.21.0', '4.22.0'];
const REF = { name: 'version' };
const CLUSTER_ID = '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab';

let server: ApiServer;
let client: Client;
let service: UpdateService;
let operators: FakeOperators;
let metrics: Metrics;
let running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

beforeAll(async () => {
  server = await startApiServer();
  client = await server.client();
  for (const crd of configCrds()) await client.create(CustomResourceDefinition, crd);
  for (const name of ['openshift-cluster-version', 'openshift-config', 'openshift-config-managed'])
    await client.create(Namespace, { metadata: { name } });
});
afterAll(async () => {
  await server?.stop();
});

beforeEach(async () => {
  service = await startUpdateService();
  operators = await startFakeOperators({ client, releases: VERSIONS.map(smallScript), eager: true, updateDelayMs: 0 });
  await eventually(() => client.create(ClusterVersion, { metadata: REF, spec: { clusterID: CLUSTER_ID, upstream: service.url } }));
});
afterEach(async () => {
  running?.stop.abort();
  await running?.ended;
  running = undefined;
  await operators.stop();
  await service.stop();
  await client.delete(ClusterVersion, REF);
  await client.delete(ClusterOperator, { name: 'dns' }).catch(() => undefined);
});

/** Asks until the answer is a good one. */
const eventually = (ask: () => unknown) =>
  settled(
    async () => {
      if (!(await ask())) throw new Error(`not yet: ${JSON.stringify((await client.get(ClusterVersion, REF))?.status)}`);
    },
    { timeout: 30_000, interval: 50 },
  );

/** Starts an operator of a release that can take the others. */
function start(version = '4.20.1', more: readonly object[] = []): void {
  const stop = new AbortController();
  metrics = createMetrics({ process: false });
  const own = createClient({ kubeconfigPath: server.kubeconfig, metrics });
  const source = {
    retrieve: async ({ image }: { readonly image: string }) => {
      const found = VERSIONS.find((each) => smallImage(each) === image);
      const message = 'Unable to download and prepare the update: nobody has it';
      if (!found) throw new UpdateError({ reason: 'UpdatePayloadRetrievalFailed', message });
      return { files: smallRelease({ version: found }), verified: true, acceptedRisks: '' };
    },
    prefetch: async () => undefined,
  };
  const run = async (): Promise<void> => {
    try {
      await runVersionOperator(
        {
          client: own,
          given: { image: () => smallImage(version), read: () => smallRelease({ version, more }), isFolder: true },
          reopen: async (image) => smallRelease({ version: VERSIONS.find((each) => smallImage(each) === image) ?? version }),
          source: () => source,
          profile: 'self-managed-high-availability',
          alwaysEnabled: [],
          degradedBlocks: () => true,
          passEveryMs: 60_000,
          updates: { machine: 'amd64', timeoutMs: 2_000, everyMs: 300, monitoringUrl: service.monitoringUrl },
          instance: 'test',
          logger: createLogger({ name: 'test', level: 'silent' }),
          metrics,
          clock: systemClock,
        },
        stop.signal,
      );
    } finally {
      await own.close();
    }
  };
  const ended = run();
  running = { stop, ended };
}

const get = async () => {
  const object = await client.get(ClusterVersion, REF);
  if (!object) throw new Error('there is no ClusterVersion');
  return object;
};
/** Status, reason and message of a condition, with blanks between. */
async function said(type: string): Promise<string | undefined> {
  const found = findCondition((await get()).status?.conditions, type);
  return found && [found.status, found.reason, found.message].filter(Boolean).join(' ');
}
const says = (type: string, wanted: string, timeout = 30_000) =>
  settled(async () => expect(await said(type)).toBe(wanted), { timeout, interval: 50 });
const history = async () => (await get()).status?.history?.map(({ version, state }) => `${version} ${state}`);
const runs = (...entries: string[]) => settled(async () => expect(await history()).toEqual(entries), { timeout: 30_000, interval: 50 });
const edit = (spec: object) => client.patch(ClusterVersion, REF, { spec }, { type: 'merge' });
const graphOf = (...edges: number[][]) => ({ nodes: VERSIONS.map((version) => ({ version, payload: smallImage(version) })), edges });
const eventReasons = async () => {
  const { items } = await client.list(Event, { namespace: 'openshift-cluster-version' });
  return new Set(items.map(({ reason }) => reason));
};

describe('an install', () => {
  test('ends with a status that is whole', async () => {
    start();
    await runs('4.20.1 Completed');
    await says('Progressing', 'False Cluster version is 4.20.1');
    await says('RetrievedUpdates', 'False NoChannel The update channel has not been configured.');
    expect(await said('Available')).toBe('True Done applying 4.20.1');
    expect(await said('Failing')).toBe('False');
    expect(await said('ReleaseAccepted')).toMatch(
      /^True PayloadLoaded Payload loaded version="4.20.1" image="registry.example\/release@sha256:0+4201" architecture=/,
    );
    expect(await said('ImplicitlyEnabledCapabilities')).toBe('False AsExpected Capabilities match configured spec');
    expect(await said('Upgradeable')).toBeUndefined();
    const { status, metadata } = await get();
    expect(status).toMatchObject({
      desired: { version: '4.20.1', image: smallImage('4.20.1') },
      observedGeneration: metadata.generation,
      versionHash: expect.stringMatching(/^[\w=-]{12}$/),
      availableUpdates: null,
      capabilities: { enabledCapabilities: expect.arrayContaining(['Console']), knownCapabilities: expect.arrayContaining(['Console']) },
    });
  });

  test('ends although an operator is degraded, and says so', async () => {
    operators.setOperator('dns', { degraded: true });
    start();
    await runs('4.20.1 Completed');
    await says('Available', 'True Done applying 4.20.1');
    await says('Failing', 'True ClusterOperatorDegraded Cluster operator dns is degraded: PodsFailing: 1 of 3 pods fails.');
    operators.setOperator('dns', undefined);
    await says('Failing', 'False');
    await says('Progressing', 'False Cluster version is 4.20.1');
  });

  test('does not end while an operator is not available', async () => {
    operators.setOperator('dns', { available: false });
    start();
    // operators of a cluster that is being installed have half a minute to report for the first time
    await says(
      'Failing',
      'True ClusterOperatorNotAvailable Cluster operator dns is not available: NoPods: No pod is ready. The last one ended with 137.',
      60_000,
    );
    expect(await said('Progressing')).toMatch(
      /^True ClusterOperatorNotAvailable Unable to apply 4.20.1: the cluster operator dns is not available$/,
    );
    expect(await history()).toEqual(['4.20.1 Partial']);
    expect(await said('Available')).toBe('False');
    operators.setOperator('dns', undefined);
    await runs('4.20.1 Completed');
  });
});

describe('an update', () => {
  beforeEach(async () => {
    start();
    await runs('4.20.1 Completed');
  });

  test('goes to a version that the graph offers, and back to the patch before', async () => {
    service.setGraph(graphOf([0, 1], [1, 0]));
    await edit({ channel: 'stable-4.20' });
    await eventually(async () => (await get()).status?.availableUpdates?.length === 1);
    expect(await said('RetrievedUpdates')).toBe('True');
    await edit({ desiredUpdate: { version: '4.20.2' } });
    await runs('4.20.2 Completed', '4.20.1 Completed');
    expect((await client.get(ConfigMap, { namespace: 'openshift-dns', name: 'release' }))?.data).toEqual({ version: '4.20.2' });
    expect((await get()).status?.history?.[0]).not.toHaveProperty('acceptedRisks');
    await eventually(async () => (await get()).status?.availableUpdates?.[0]?.version === '4.20.1');
    await edit({ desiredUpdate: { version: '4.20.1' } });
    await runs('4.20.1 Completed', '4.20.2 Completed', '4.20.1 Completed');
    await eventually(async () =>
      (await eventReasons()).isSupersetOf(new Set(['RetrievePayload', 'LoadPayload', 'PreconditionsPassed', 'PayloadLoaded'])),
    );
  });

  test('is refused where a precondition stops it, taken where that is forced, and both are told', async () => {
    const before = (await get()).status;
    await edit({ desiredUpdate: { version: '4.22.0', image: smallImage('4.22.0') } });
    await says(
      'ReleaseAccepted',
      `False PreconditionChecks Preconditions failed for payload loaded version="4.22.0" image="${smallImage('4.22.0')}": ` +
        'Multiple precondition checks failed:' +
        '\n* Precondition "ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate": 4.22.0 is more than one minor version beyond the current target 4.20.1 (4.22 > 4.(20+1)), and only updates within the current minor version or to the next minor version are supported.' +
        '\n* Precondition "ClusterVersionRecommendedUpdate" failed because of "NoChannel": Configured channel is unset, so the recommended status of updating from 4.20.1 to 4.22.0 is unknown.',
    );
    const { status } = await get();
    expect([status?.history, status?.desired]).toEqual([before?.history, before?.desired]);
    expect(await said('Progressing')).toBe('False Cluster version is 4.20.1');
    await eventually(async () => (await eventReasons()).has('PreconditionBlock'));
    await edit({ desiredUpdate: { force: true } });
    await runs('4.22.0 Completed', '4.20.1 Completed');
    expect((await get()).status?.history?.[0]?.acceptedRisks).toMatch(
      /^Forced through blocking failures: Multiple precondition checks failed:\n\* Precondition "ClusterVersionGiantHop"/,
    );
    await says('Available', 'True Done applying 4.22.0');
  });

  test('that cannot be fetched leaves the cluster where it is, and is no longer told when nobody asks', async () => {
    await edit({ desiredUpdate: { image: 'registry.example/release@sha256:nowhere' } });
    await says(
      'ReleaseAccepted',
      'False RetrievePayload Retrieving payload failed version="" image="registry.example/release@sha256:nowhere" failure=Unable to download and prepare the update: nobody has it',
    );
    expect(await said('Progressing')).toBe('False Cluster version is 4.20.1');
    await edit({ desiredUpdate: null });
    await says('ReleaseAccepted', `True PayloadLoaded Payload loaded version="4.20.1" image="${smallImage('4.20.1')}"`);
  });

  test('whose image is of another version is refused', async () => {
    await edit({ desiredUpdate: { version: '4.20.9', image: smallImage('4.20.2') } });
    await says(
      'ReleaseAccepted',
      `False VerifyPayloadVersion Verifying payload failed version="4.20.9" image="${smallImage('4.20.2')}" failure=release image version 4.20.2 does not match the expected upstream version 4.20.9`,
    );
  });

  test('waits for a slow operator, and says for which', async () => {
    operators.setOperator('dns', { isSlow: true });
    await edit({ desiredUpdate: { image: smallImage('4.20.2') } });
    await settled(
      async () =>
        expect(await said('Progressing')).toMatch(
          /^True ClusterOperatorUpdating Working towards 4.20.2: \d of 4 done \(\d+% complete\), waiting on dns$/,
        ),
      { timeout: 30_000, interval: 50 },
    );
    expect(await said('Failing')).toBe('False');
    expect(await said('Upgradeable')).toMatch(/^False ClusterVersionUpdating An update is already in progress/);
    operators.setOperator('dns', undefined);
    await runs('4.20.2 Completed', '4.20.1 Completed');
    await settled(async () => expect(await said('Upgradeable')).toBeUndefined(), { timeout: 10_000 });
  });

  test('to another minor is stopped by an operator and by a gate, to a patch by neither', async () => {
    const condition = {
      type: 'Upgradeable',
      status: 'False',
      reason: 'Old',
      message: 'Migrate first.',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const dns = await client.get(ClusterOperator, { name: 'dns' });
    const others = (dns?.status?.conditions ?? []).filter(({ type }) => type !== 'Upgradeable');
    await client.patch(
      ClusterOperator,
      { name: 'dns' },
      { status: { conditions: [...others, condition] } },
      { type: 'merge', subresource: 'status' },
    );
    await says('Upgradeable', 'False RiskNameNotCompatibleWithReasonProperty Migrate first.');
    const gate = { namespace: 'openshift-config-managed', name: 'admin-gates' };
    await client.create(ConfigMap, { metadata: gate, data: { 'ack-4.20-apis': 'APIs go away.' } });
    try {
      await says(
        'Upgradeable',
        'False MultipleReasons Cluster should not be upgraded between minor or major versions for multiple reasons:\n* APIs go away.\n* Migrate first.',
      );
      await edit({ desiredUpdate: { image: smallImage('4.21.0') } });
      await settled(
        async () =>
          expect(await said('ReleaseAccepted')).toMatch(
            /^False PreconditionChecks .*Precondition "ClusterVersionUpgradeable" failed because of "MultipleReasons"/s,
          ),
        { timeout: 30_000, interval: 50 },
      );
      await edit({ desiredUpdate: { image: smallImage('4.20.2') } });
      await runs('4.20.2 Completed', '4.20.1 Completed');
    } finally {
      await client.delete(ConfigMap, gate);
    }
  });
});

describe('under the gate of accepted risks', () => {
  const { spec: gates } = buildOpenDefinition({
    group: 'config.openshift.io',
    kind: 'FeatureGate',
    plural: 'featuregates',
    scope: 'Cluster',
  });
  const enabled = { featureGates: [{ version: '4.20.1', enabled: [{ name: 'ClusterUpdateAcceptRisks' }], disabled: [] }] };
  const gated = [
    buildReleased('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'featuregates.config.openshift.io', { spec: gates }),
    buildReleased('config.openshift.io/v1', 'FeatureGate', 'cluster', { spec: {}, status: enabled }),
  ];
  const recommended = async () => (await get()).status?.conditionalUpdates?.map(({ conditions }) => conditions?.[0]?.reason);

  test('an alert speaks against an update until an admin accepts it, and that is recorded', async () => {
    const alert = { alertname: 'Leaking', severity: 'critical' };
    service.setAlerts([{ state: 'firing', labels: alert, annotations: { summary: 'It leaks.', runbook_url: 'https://example.com/leak' } }]);
    service.setGraph(graphOf([0, 1]));
    start('4.20.1', gated);
    await runs('4.20.1 Completed');
    await edit({ channel: 'stable-4.20' });
    await settled(async () => expect(await recommended()).toEqual(['Leaking']), { timeout: 30_000, interval: 50 });
    const { status } = await get();
    expect(status?.availableUpdates).toBeNull();
    expect(status?.conditionalUpdates?.[0]?.riskNames).toEqual(['Leaking']);
    expect(status?.conditionalUpdateRisks?.map(({ name, conditions }) => [name, conditions?.[0]?.status, conditions?.[0]?.reason])).toEqual(
      [['Leaking', 'True', 'Alert:firing']],
    );
    await edit({ desiredUpdate: { version: '4.20.2', acceptRisks: [{ name: 'Leaking' }] } });
    await runs('4.20.2 Completed', '4.20.1 Completed');
    expect((await get()).status?.history?.[0]?.acceptedRisks).toBe(
      `The target release ${smallImage('4.20.2')} is exposed to the risks [Leaking] which were all explicitly accepted by the cluster administrator.`,
    );
  });
});

describe('a cluster that is as it should be', () => {
  beforeEach(async () => {
    start();
    await runs('4.20.1 Completed');
    await says('RetrievedUpdates', 'False NoChannel The update channel has not been configured.');
  });

  test('leaves what is overridden to others, and is not upgradeable meanwhile', async () => {
    const overrides = [{ kind: 'ConfigMap', group: '', namespace: 'openshift-dns', name: 'release', unmanaged: true }];
    await edit({ overrides });
    await settled(async () => expect(await said('Upgradeable')).toMatch(/Disabling ownership via cluster version overrides/), {
      timeout: 30_000,
      interval: 50,
    });
    await says('Progressing', 'False Cluster version is 4.20.1');
    const ref = { namespace: 'openshift-dns', name: 'release' };
    await client.patch(ConfigMap, ref, { data: { version: 'mine' } }, { type: 'merge' });
    await edit({ desiredUpdate: { image: smallImage('4.20.2') } });
    await runs('4.20.2 Completed', '4.20.1 Completed');
    expect((await client.get(ConfigMap, ref))?.data).toEqual({ version: 'mine' });
    await edit({ overrides: null });
    await settled(async () => expect((await client.get(ConfigMap, ref))?.data).toEqual({ version: '4.20.2' }), {
      timeout: 30_000,
      interval: 50,
    });
    await settled(async () => expect(await said('Upgradeable')).toBeUndefined(), { timeout: 30_000, interval: 50 });
  });

  test('goes on with the rest of a spec that is wrong, and says what is wrong', async () => {
    service.setGraph(graphOf([0, 1]));
    await edit({ upstream: 'not a url', channel: 'stable-4.20', desiredUpdate: { version: '4.99.0' } });
    await says(
      'Invalid',
      'True InvalidClusterVersion The cluster version is invalid:' +
        '\n* spec.upstream: Invalid value: "not a url": must be a valid URL or empty' +
        '\n* spec.desiredUpdate.version: Invalid value: "4.99.0": when image is empty the update must be an available update\n',
    );
    await says('RetrievedUpdates', 'False InvalidURI failed to parse update service URL: "not a url" is not an http or https URL');
    await says('Progressing', 'False InvalidClusterVersion Stopped at 4.20.1: the cluster version is invalid');
    await edit({ upstream: service.url });
    await eventually(async () => (await get()).status?.availableUpdates?.length === 1);
    await edit({ desiredUpdate: null });
    await settled(async () => expect(await said('Invalid')).toBeUndefined(), { timeout: 30_000, interval: 50 });
    await says('Progressing', 'False Cluster version is 4.20.1');
  });

  test('says why updates are not known, and keeps those that were', async () => {
    service.setGraph(graphOf([0, 1]));
    await edit({ channel: 'stable-4.20' });
    await says('RetrievedUpdates', 'True');
    service.setFaults({ path: /^GET \/graph/, status: 502 });
    await says('RetrievedUpdates', 'False ResponseFailed Unable to retrieve available updates: unexpected HTTP status: 502 Bad Gateway');
    expect((await get()).status?.availableUpdates).toHaveLength(1);
    service.setFaults({ path: /^GET \/graph/, body: '<html>' });
    await settled(
      async () => expect(await said('RetrievedUpdates')).toMatch(/^False ResponseInvalid Unable to retrieve available updates: /),
      { timeout: 30_000, interval: 50 },
    );
    service.setFaults({ path: /^GET \/graph/, delayMs: 60_000 });
    await says('RetrievedUpdates', 'False RemoteFailed Unable to retrieve available updates: no complete answer within 2000 ms');
    service.setFaults();
    await says('RetrievedUpdates', 'True');
  });

  test('takes of a hostile graph what a server stores, and no more', async () => {
    const risk = { name: 'Leak', message: 'It leaks.', url: 'https://example.com', matchingRules: [{ type: 'Always' }] };
    const to = (version: string, ...risks: object[]) => ({ edges: [{ from: '4.20.1', to: version }], risks });
    const metadata = { 'io.openshift.upgrades.graph.release.channels': 'fast,fast,stable', url: 'x'.repeat(10_000) };
    const { nodes } = graphOf();
    service.setGraph({
      nodes: nodes.map((node) => ({ ...node, metadata })),
      edges: [[0, 1]],
      conditionalEdges: [to('4.21.0', risk, risk), to('4.22.0', { ...risk, url: 'see the docs' }), to('4.20.2', risk)],
    });
    await edit({ channel: 'stable-4.20' });
    await says('RetrievedUpdates', 'True');
    const { status } = await get();
    expect(status?.conditionalUpdates?.map(({ release, conditions }) => [release.version, conditions?.[0]?.status])).toEqual([
      ['4.20.2', 'False'],
    ]);
    expect(status?.availableUpdates).toBeNull();
    expect(status?.desired?.channels).toEqual(['fast', 'stable']);
  });

  test('is told nothing new when nothing has happened', async () => {
    const writes = async () =>
      /flotilla_api_requests_total\{verb="PUT",resource="clusterversions",code="200"\} (\d+)/.exec(await metrics.registry.metrics())?.[1];
    const looks = async () =>
      [
        ...(await metrics.registry.metrics()).matchAll(
          /flotilla_reconcile_seconds_count\{controller="clusterversion",result="\w+"\} (\d+)/g,
        ),
      ].reduce((sum, [, n]) => sum + Number(n), 0);
    const touch = async (round: number) => {
      const looked = await looks();
      await client.patch(ClusterOperator, { name: 'dns' }, { metadata: { labels: { round: String(round) } } }, { type: 'merge' });
      await eventually(async () => (await looks()) > looked);
    };
    for (const round of [1, 2]) await touch(round);
    const before = [await writes(), (await get()).metadata.resourceVersion];
    expect(Number(before[0])).toBeGreaterThan(0);
    for (const round of [3, 4, 5]) await touch(round);
    expect([await writes(), (await get()).metadata.resourceVersion]).toEqual(before);
  });

  test('is measured by the names that alerts know', async () => {
    const text = await metrics.registry.metrics();
    const image = smallImage('4.20.1');
    expect(text).toContain(`cluster_version{type="completed",version="4.20.1",image="${image}",from_version=""} `);
    expect(text).toContain(
      `cluster_version{type="current",version="4.20.1",image="${image}",from_version="4.20.1"} ${Date.parse('2026-01-01T00:00:00Z') / 1_000}`,
    );
    expect(text).toContain('cluster_operator_up{name="dns",version="4.20.1",reason="AsExpected"} 1');
    expect(text).toContain('cluster_operator_up{name="version",version="4.20.1",reason=""} 1');
    expect(text).toContain('cluster_operator_conditions{name="version",condition="Failing",reason=""} 0');
    expect(text).toContain('cluster_version_payload{version="4.20.1",type="pending"} 0');
    expect(text).toContain('cluster_installer{type="",version="",invoker=""} 1');
    expect(text).toMatch(/cluster_operator_condition_transitions\{name="dns",condition="Available"\} [1-9]/);
  });
});
