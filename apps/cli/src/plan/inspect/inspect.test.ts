import { Annotation, type KubeObject, type Resource, refKey } from '@flotilla/api';
import {
  ACTION_COMPLETED,
  ClusterClaim,
  type ManagedCluster,
  ManagedClusterAction,
  ManagedClusterView,
  ManifestWork,
  transportCrds,
} from '@flotilla/api/ocm';
import { type NodeInventory, SpokeName } from '@flotilla/api/ran';
import { clientWith, MemoryServer } from '@flotilla/control-plane/memory';
import type { Client } from '@flotilla/runtime';
import { layerListDigest, packBits } from '@flotilla/software';
import { expect, test } from 'vitest';
import { chooseTransports, inspectClusters } from './inspect.ts';

const list = { layers: [], images: [] };
const inventory: NodeInventory = {
  list: layerListDigest(list),
  held: packBits([]),
  packed: packBits([]),
  images: packBits([]),
  partial: [],
  runtime: 'containerd 2.1',
  architecture: 'amd64',
  node: 'node-1',
  space: { sizeBytes: 1, usedBytes: 0, availableBytes: 1, thresholdPercent: 85 },
};
const ANSWER = JSON.stringify(inventory);

/** An agent: answers what is created with the status that it gets, or with none. */
type Agent = (kind: Resource, object: KubeObject) => object | undefined;

/** A hub in memory, whose agent answers at once. */
function createHub(agent: Agent) {
  const server = new MemoryServer({ crds: transportCrds(), namespaces: ['spoke-1'] });
  const client = server.client();
  const created: string[] = [];
  const create: Client['create'] = async (kind, object, options) => {
    const stored = await client.create(kind, object, options);
    if (options?.dryRun) return stored;
    created.push(`${kind.kind} ${refKey(object.metadata)}`);
    const status = agent(kind, object);
    return status ? client.patch(kind, object.metadata, { status }, { type: 'merge', subresource: 'status' }) : stored;
  };
  const kinds: readonly Resource[] = [ManifestWork, ManagedClusterAction, ManagedClusterView];
  const names = () => kinds.flatMap((kind) => server.readAll(kind).map(({ metadata }) => metadata.name));
  return { client: clientWith(client, { create }), names, created };
}

const cluster = (transports?: string): ManagedCluster => ({
  metadata: { name: 'spoke-1' },
  status: transports === undefined ? {} : { clusterClaims: [{ name: ClusterClaim.transports, value: transports }] },
});

async function inspect(hub: ReturnType<typeof createHub>, managed: ManagedCluster, more: { withinMs?: number; dryRun?: boolean } = {}) {
  const transports = await chooseTransports(hub.client, [{ managed, list }]);
  const options = { image: 'puller:1', withinMs: 5_000, dryRun: false, signal: new AbortController().signal, ...more };
  return (await inspectClusters(hub.client, transports, options)).get('spoke-1');
}

const feedback = (values: Record<string, string>) => ({
  resourceStatus: {
    manifests: [
      {
        resourceMeta: { ordinal: 2, kind: 'Job', name: SpokeName.job },
        conditions: [],
        statusFeedback: { values: Object.entries(values).map(([name, string]) => ({ name, fieldValue: { type: 'String', string } })) },
      },
    ],
  },
});
const done = {
  conditions: [{ type: ACTION_COMPLETED, status: 'True', reason: 'ActionDone', message: '', lastTransitionTime: '2026-11-25T20:00:00Z' }],
};
const byActions =
  (answer: string): Agent =>
  (kind) =>
    kind === ManagedClusterView ? { result: { metadata: { name: SpokeName.job, annotations: { [Annotation.inventory]: answer } } } } : done;

test('by a work the answer comes back, and the work goes', async () => {
  const hub = createHub(() => feedback({ inventory: ANSWER }));
  expect(await inspect(hub, cluster('actions,works,puller-account'))).toEqual({ inventory });
  expect(hub.created).toEqual(['ManifestWork spoke-1/flotilla-inspect']);
  expect(hub.names()).toEqual([]);
});

test('by actions it comes back after each object in its turn, and everything goes', async () => {
  const hub = createHub(byActions(ANSWER));
  expect(await inspect(hub, cluster())).toEqual({ inventory });
  expect(hub.created.map((name) => name.split('flotilla-inspect-')[1])).toEqual([
    'namespace-flotilla-inspect',
    'serviceaccount-pre-cache-agent',
    'role-pre-cache-agent',
    'rolebinding-pre-cache-agent',
    'configmap-pre-cache-spec',
    'job-pre-cache',
    'job',
    'delete',
  ]);
  expect(hub.names()).toEqual([]);
});

const refused = { ...done, conditions: [{ ...done.conditions[0], status: 'False', message: 'namespaces is forbidden' }] };
const notApplied = {
  resourceStatus: {
    manifests: [
      {
        resourceMeta: { ordinal: 0, kind: 'Namespace' },
        conditions: [
          { type: 'Applied', status: 'False', reason: 'x', message: 'jobs is forbidden', lastTransitionTime: '2026-11-25T20:00:00Z' },
        ],
      },
    ],
  },
};

test.each<{ name: string; transports?: string; agent: Agent; why: RegExp }>([
  {
    name: 'a node that cannot be looked at',
    agent: byActions('{"error":"no runtime answers"}'),
    why: /^its node says: no runtime answers$/,
  },
  {
    name: 'a refused action',
    agent: (_, { metadata }) => (metadata.name.endsWith('-delete') ? done : refused),
    why: /^namespaces is forbidden$/,
  },
  { name: 'a refused manifest', transports: 'works', agent: () => notApplied, why: /^jobs is forbidden$/ },
  {
    name: 'a failed Job',
    transports: 'works',
    agent: () => feedback({ verdict: 'Failed', message: 'deadline' }),
    why: /^its Job failed: deadline$/,
  },
  { name: 'an answer that is none', transports: 'works', agent: () => feedback({ inventory: '{"held":1}' }), why: /^no answer for 0 s$/ },
  { name: 'no answer', transports: 'works', agent: () => undefined, why: /^no answer for 0 s$/ },
])('$name is a reason, and nothing is left', async ({ transports, agent, why }) => {
  const hub = createHub(agent);
  expect(await inspect(hub, cluster(transports), { withinMs: 100 })).toEqual({ why: expect.stringMatching(why) });
  expect(hub.names()).toEqual([]);
});

test('somebody else’s inspection is left alone', async () => {
  const hub = createHub(() => feedback({ inventory: ANSWER }));
  const annotations = { [Annotation.attempt]: 'other' };
  const other: KubeObject & { spec: object } = { metadata: { name: 'flotilla-inspect', namespace: 'spoke-1', annotations }, spec: {} };
  await hub.client.create(ManifestWork, other);
  expect(await inspect(hub, cluster('works'), { withinMs: 100 })).toEqual({ why: expect.stringContaining('somebody else inspects') });
  expect(hub.names()).toEqual(['flotilla-inspect']);
  // The check of a dry run, which stores nothing, does not end those of all other clusters.
  expect(await inspect(hub, cluster('works'), { dryRun: true })).toEqual({ why: expect.stringContaining('not inspected: --dry-run') });
});

test('a deletion that an agent was too slow for does not keep the next inspection from its own', async () => {
  const hub = createHub(byActions(ANSWER));
  const name = 'flotilla-inspect-delete';
  await hub.client.create(ManagedClusterAction, { metadata: { name, namespace: 'spoke-1' } });
  expect(await inspect(hub, cluster())).toEqual({ inventory });
  expect(hub.names()).toEqual([]);
});

test.each([
  ['a dry run', cluster('works'), { dryRun: true }, /not inspected: --dry-run/],
  [
    'an agent that is away',
    {
      metadata: { name: 'spoke-1' },
      status: {
        conditions: [
          {
            type: 'ManagedClusterConditionAvailable',
            status: 'Unknown',
            reason: 'x',
            message: '',
            lastTransitionTime: '2026-11-25T20:00:00Z',
          },
        ],
      },
    } as ManagedCluster,
    {},
    /its agent is away: ManagedClusterConditionAvailable is Unknown since 2026-11-25T20:00:00Z/,
  ],
] as const)('%s writes nothing', async (_, managed, more, why) => {
  const hub = createHub(() => undefined);
  expect(await inspect(hub, managed, more)).toEqual({ why: expect.stringMatching(why) });
  expect(hub.created).toEqual([]);
});

test('an interruption takes away what it had begun, and says so', async () => {
  const stop = new AbortController();
  const hub = createHub(() => {
    setTimeout(() => stop.abort(), 10);
    return undefined;
  });
  const transports = await chooseTransports(hub.client, [{ managed: cluster('works'), list }]);
  const options = { image: 'puller:1', withinMs: 5_000, dryRun: false, signal: stop.signal };
  await expect(inspectClusters(hub.client, transports, options)).rejects.toMatchObject({ code: 'FLOTILLA_INTERRUPTED' });
  expect(hub.created).toEqual(['ManifestWork spoke-1/flotilla-inspect']);
  expect(hub.names()).toEqual([]);
});
