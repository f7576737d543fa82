/** Values that a hub of the version before was installed with, under the chart of this version: each has its queue where it was said to be. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { unpackVersionBefore, versionBeforeObstacle } from '../../fixtures/version-before.ts';
import { CHARTS, NAMESPACE } from '../chart-hub.ts';
import { type ChartServer, REQUIRED, sets, startChartServer } from '../chart-server.ts';

const obstacle = await versionBeforeObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const Container = z.looseObject({
  name: z.string(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional(), valueFrom: z.unknown().optional() })).default([]),
});
const Installed = z.looseObject({
  spec: z.looseObject({ template: z.looseObject({ spec: z.looseObject({ containers: z.array(Container) }) }) }),
});

describe.skipIf(obstacle !== undefined)('a hub of the version before', () => {
  let dir: string;
  let world: ChartServer;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-values-before-'));
    await unpackVersionBefore(dir);
    world = await startChartServer();
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** Containers of the hub's pod, and the address of its queue. */
  async function readQueue() {
    const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/hub-flotilla-hub`;
    const { containers } = Installed.parse(await world.admin.request('GET', path)).spec.template.spec;
    const url = containers[0]?.env.find(({ name }) => name === 'REDIS_URL');
    return { containers: containers.map(({ name }) => name), url: url?.value ?? url?.valueFrom };
  }

  const own = 'unix:///run/flotilla/redis.sock';
  test.each([
    { name: 'none', values: [], want: { containers: ['hub', 'redis'], url: own } },
    { name: 'a URL', values: ['redis.url=redis://queue:6379'], want: { containers: ['hub'], url: 'redis://queue:6379' } },
    {
      name: 'two replicas with a Secret',
      values: ['replicas=2', 'redis.existingSecret=queue'],
      want: { containers: ['hub'], url: { secretKeyRef: { name: 'queue', key: 'url' } } },
    },
    {
      name: 'a URL of its own',
      values: ['extraEnv[0].name=REDIS_URL', 'extraEnv[0].value=redis://theirs:6379'],
      want: { containers: ['hub'], url: 'redis://theirs:6379' },
    },
  ])('with $name is upgraded and rolled back with its values', async ({ values, want }) => {
    const chart = join(dir, 'version-before/charts/hub');
    await world.helm('upgrade', '--install', 'hub', chart, '--reset-values', '-n', NAMESPACE, ...sets([...REQUIRED.hub, ...values]));
    const before = await readQueue();
    expect(before.containers).toEqual(['hub']);
    await world.helm('upgrade', 'hub', join(CHARTS, 'hub'), '--reset-then-reuse-values', '-n', NAMESPACE);
    expect(await readQueue()).toEqual(want);
    await world.helm('rollback', 'hub', '-n', NAMESPACE);
    expect(await readQueue()).toEqual(before);
  });
});
