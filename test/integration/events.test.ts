import { hostname } from 'node:os';
import { untyped } from '@flotilla/api';
import { Event, Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { type Client, createEventRecorder, createLogger, createMetrics, type EventRecorder, type EventToRecord } from '@flotilla/runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hubCrds } from '../fixtures/crds.ts';

const CoreEvent = untyped('v1', 'Event', 'events');
const PREFIX = 'cgu.openshift.io/';

describe('events on a real API server', () => {
  let server: ApiServer;
  let client: Client;
  let recorder: EventRecorder;
  let upgrade: ClusterGroupUpgrade;
  let namespaces = 0;
  const warnings: string[] = [];

  beforeAll(async () => {
    server = await startApiServer({ crds: hubCrds() });
    client = await server.client();
    const logger = createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void warnings.push(line) } });
    const metrics = createMetrics({ process: false });
    recorder = createEventRecorder({ client, controller: 'ClusterGroupUpgrade', instance: hostname(), logger, metrics });
  });
  afterAll(async () => {
    await recorder?.close();
    await server?.stop();
  });

  beforeEach(async () => {
    const namespace = `events-${++namespaces}`;
    await client.create(Namespace, { metadata: { name: namespace } });
    const { metadata, ...rest } = buildClusterGroupUpgrade('cgu');
    upgrade = await client.create(ClusterGroupUpgrade, { ...rest, metadata: { name: metadata.name, namespace } });
    warnings.length = 0;
  });
  const namespaceOf = () => ({ namespace: upgrade.metadata.namespace ?? '' });

  const event = (note: string, more: Partial<EventToRecord> = {}): EventToRecord => {
    const { apiVersion, kind } = ClusterGroupUpgrade;
    const { namespace, name, uid, resourceVersion } = upgrade.metadata;
    const regarding = { apiVersion, kind, namespace, name, uid, resourceVersion };
    return { type: 'Normal', reason: 'CguStarted', action: 'RemediationInClusterStarted', note, regarding, ...more };
  };
  /** As they were recorded: no two have the same time. */
  const stored = async () => {
    const { items } = await client.list(Event, namespaceOf());
    return items.toSorted((a, b) => (a.eventTime ?? '').localeCompare(b.eventTime ?? ''));
  };

  it('are read back through both APIs', async () => {
    const note = 'ClusterGroupUpgrade cgu: cluster spoke-1 upgrade started';
    const related = { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedCluster', name: 'spoke-1' };
    const annotations = { [`${PREFIX}event-type`]: 'cluster', [`${PREFIX}cluster-name`]: 'spoke-1' };
    recorder.record(event(note, { related, annotations }));
    await recorder.flush();
    const { metadata } = upgrade;
    const regarding = {
      apiVersion: 'ran.openshift.io/v1alpha1',
      kind: 'ClusterGroupUpgrade',
      namespace: metadata.namespace,
      name: 'cgu',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    };
    const common = {
      metadata: {
        name: expect.stringMatching(/^cgu-[0-9a-f]{8}$/),
        generateName: 'cgu-',
        annotations,
      },
      type: 'Normal',
      reason: 'CguStarted',
      action: 'RemediationInClusterStarted',
      eventTime: expect.stringMatching(/\.\d{6}Z$/),
      reportingInstance: hostname(),
      related,
    };
    expect(await stored()).toMatchObject([{ ...common, note, regarding, reportingController: 'ClusterGroupUpgrade' }]);
    const { items: core } = await client.list(CoreEvent, namespaceOf());
    expect(core).toMatchObject([{ ...common, message: note, involvedObject: regarding, reportingComponent: 'ClusterGroupUpgrade' }]);
    expect(warnings).toEqual([]);
  });

  it('that are too large are cut to what the server takes', async () => {
    const clusters = Array.from({ length: 6_000 }, (_, index) => `${'spoke'.repeat(10)}-${String(index).padStart(4, '0')}`);
    const list = clusters.join(',');
    recorder.record(event('a', { annotations: { [`${PREFIX}batch-clusters`]: list, [`${PREFIX}batch-clusters-count`]: '6000' } }));
    recorder.record(event(`ä,${list}`, { annotations: { [`${PREFIX}missing-clusters`]: list } }));
    await recorder.flush();
    expect(warnings).toEqual([]);
    const [batch, missing] = await stored();
    const kept = batch?.metadata.annotations?.[`${PREFIX}batch-clusters`]?.split(',') ?? [];
    expect(kept.length).toBeGreaterThan(4_000);
    expect(kept).toEqual(clusters.slice(0, kept.length));
    expect(batch?.metadata.annotations).toMatchObject({
      [`${PREFIX}truncated`]: `${PREFIX}batch-clusters`,
      [`${PREFIX}batch-clusters-count`]: '6000',
    });
    expect(Buffer.byteLength(missing?.note ?? '')).toBe(1024);
    expect(missing?.metadata.annotations?.[`${PREFIX}truncated`]).toBe(`${PREFIX}missing-clusters`);
  });

  it('come in any shape that an event may have, in the order they were recorded', async () => {
    recorder.record(event('', { type: 'Warning', annotations: { [`${PREFIX}timedout-clusters`]: '' } }));
    recorder.record(event('x'.repeat(5_000), { reason: 'r'.repeat(500), action: 'a'.repeat(500) }));
    for (let index = 0; index < 50; index++) recorder.record(event(`event ${index}`));
    await recorder.flush();
    expect((await stored()).map(({ note }) => note)).toEqual([
      undefined,
      'x'.repeat(1024),
      ...Array.from({ length: 50 }, (_, index) => `event ${index}`),
    ]);
    expect(warnings).toEqual([]);
  });

  it('about an object with the longest name there may be are stored', async () => {
    const name = `${'a'.repeat(243)}.${'b'.repeat(9)}`;
    const { apiVersion, kind } = ClusterGroupUpgrade;
    recorder.record(event('x', { regarding: { apiVersion, kind, ...namespaceOf(), name } }));
    await recorder.flush();
    expect(warnings).toEqual([]);
    expect(await stored()).toMatchObject([{ regarding: { name } }]);
  });
});
