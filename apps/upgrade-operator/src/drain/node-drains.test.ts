import { type Node, Node as NodeKind, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { UpgradeConfig } from '@flotilla/api/managed';
import { type Client, createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { testConfig } from '../../testing/test-config.ts';
import { createNodeDrains, type DrainContext } from './node-drains.ts';

const MINUTE = 60_000;
const since = Date.parse('2026-02-01T10:00:00Z');
const upgradeConfig = UpgradeConfig.schema.parse({
  metadata: { name: 'managed-upgrade-config', uid: 'u' },
  spec: { type: 'OSD', upgradeAt: '', PDBForceDrainTimeout: 60, desired: {} },
});
const node = (timeAdded: string | undefined = '2026-02-01T10:00:00Z'): Node =>
  NodeKind.schema.parse({
    metadata: { name: 'n' },
    spec: {
      unschedulable: true,
      taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', ...(timeAdded && { timeAdded }) }],
    },
  });
const pod = (name: string, metadata = {}) => ({ metadata: { name, namespace: 'shop', uid: name, ...metadata }, spec: { nodeName: 'n' } });

/** A cluster of pods and one budget, which tells what was done to it. */
function world(pods: readonly unknown[]) {
  const calls: string[] = [];
  const told: string[] = [];
  const budget = { metadata: { name: 'b', namespace: 'shop' }, spec: { selector: { matchLabels: { app: 'guarded' } } } };
  const client: Pick<Client, 'list' | 'patch' | 'delete'> = {
    async list(kind, { fieldSelector = '' } = {}) {
      calls.push(`list ${kind.plural} ${fieldSelector}`.trim());
      const items = kind.kind === Pod.kind ? pods : kind.kind === PodDisruptionBudget.kind ? [budget] : [];
      return { items: items.map((item) => kind.schema.parse(item)), resourceVersion: '1' };
    },
    async patch(kind, { name }, patch) {
      calls.push(`patch ${name} ${JSON.stringify(patch)}`);
      return kind.schema.parse(pod(name));
    },
    async delete(_, { name }, { uid, gracePeriodSeconds } = {}) {
      calls.push(`delete ${name} ${uid} ${gracePeriodSeconds}`);
      return true;
    },
  };
  const context = (minutes: number, watchOnly = false): DrainContext => ({
    upgradeConfig,
    config: testConfig,
    watchOnly,
    nowMs: since + minutes * MINUTE,
    notify: async (state, detail) => void told.push(`${state} ${detail}`),
    logger: createLogger({ name: 'drain', level: 'silent' }),
    signal: new AbortController().signal,
  });
  return {
    calls,
    told,
    force: (minutes: number, watchOnly?: boolean) => createNodeDrains(client).force(node(), context(minutes, watchOnly)),
    context,
    client,
  };
}

test('asks nobody before the first wait is over, and wakes exactly then', async () => {
  const { calls, force } = world([pod('p')]);
  expect(await force(40)).toEqual({ isLate: false, afterMs: 5 * MINUTE + 1 });
  expect(calls).toEqual([]);
});

test('reads the pods of the node alone, and removes those whose time is over', async () => {
  const { calls, told, force } = world([
    pod('p'),
    pod('hung', { finalizers: ['x/y'], deletionTimestamp: '2026-02-01T10:00:00Z' }),
    pod('g', { labels: { app: 'guarded' } }),
  ]);
  expect(await force(46)).toEqual({ isLate: false, afterMs: MINUTE });
  expect(calls).toEqual([
    'list pods spec.nodeName=n',
    'list poddisruptionbudgets',
    'delete p p 0',
    'patch hung {"metadata":{"uid":"hung","finalizers":null}}',
  ]);
  expect(told).toEqual([]);
});

test('counts a drain from no moment before it can have begun', async () => {
  const { client, context, calls } = world([pod('p')]);
  const drains = createNodeDrains(client);
  expect(await drains.force(node(), { ...context(500), notBeforeMs: since + 480 * MINUTE })).toEqual({
    isLate: false,
    afterMs: 25 * MINUTE + 1,
  });
  expect(calls).toEqual([]);
});

test('tells when pods with a budget had to go', async () => {
  const { calls, told, force } = world([pod('g', { labels: { app: 'guarded' } })]);
  expect((await force(69)).isLate).toBe(false);
  expect(calls.at(-1)).toBe('delete g g 0');
  expect(told).toEqual(['StateDelayed drain']);
});

test('is late when nothing helped', async () =>
  expect((await world([pod('p', { deletionTimestamp: '2026-02-01T10:00:00Z' })]).force(54)).isLate).toBe(true));

test('removes nothing when strategies are off, and is late all the same', async () => {
  const { calls, force } = world([pod('p')]);
  expect(await force(46, true)).toEqual({ isLate: true, afterMs: undefined });
  expect(calls).toEqual([]);
});

test('leaves a node alone that is not cordoned, or does not say since when', async () => {
  const { client, context, calls } = world([pod('p')]);
  const drains = createNodeDrains(client);
  expect(await drains.force(NodeKind.schema.parse({ metadata: { name: 'n' } }), context(500))).toEqual({ isLate: false });
  expect(await drains.force(node(''), context(500))).toEqual({ isLate: false, afterMs: MINUTE });
  expect(calls).toEqual([]);
});
