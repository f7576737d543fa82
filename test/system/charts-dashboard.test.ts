/** The dashboard of the hub's chart, asked of a real Prometheus that reads a hub in the middle of its work. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { type PrometheusServer, startPrometheus } from '@flotilla/control-plane/servers';
import { ensureDebianPackages, MONITORING_PACKAGES } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTemplate } from '../fixtures/work-templates.ts';
import { HubWorld, spokeNames, startSurroundings } from '../integration/world.ts';
import { CHARTS } from './chart-hub.ts';

const NAMESPACE = 'flotilla';
const Dashboard = z.looseObject({
  templating: z.object({ list: z.array(z.looseObject({ name: z.string(), type: z.string(), definition: z.string().optional() })) }),
  panels: z.array(
    z.looseObject({ type: z.string(), title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).default([]) }),
  ),
});
const Answer = z.looseObject({ status: z.literal('success') });
const Values = Answer.extend({ data: z.array(z.string()) });
const Vector = Answer.extend({ data: z.looseObject({ resultType: z.literal('vector'), result: z.array(z.looseObject({})) }) });

/** What Grafana puts in for a variable that is set to all of its values. */
const ALL = '.*';
const substituted = (text: string): string => text.replaceAll(/\$(\w+)/g, (_, name: string) => (name === 'namespace' ? NAMESPACE : ALL));

async function ask<T>({ url }: PrometheusServer, path: string, query: Record<string, string>, schema: z.ZodType<T>): Promise<T> {
  const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query).toString()}`, { signal: AbortSignal.timeout(10_000) });
  return schema.parse(await answer.json());
}

/** A hub that holds a rollout in its second batch, inside a window, and pre-caches elsewhere; its metrics are read as of a pod. */
async function startNight(stack: AsyncDisposableStack): Promise<PrometheusServer> {
  const spokes = spokeNames(4);
  const [done, held, waiting, caching] = spokes as [string, string, string, string];
  const job = { seconds: 600, jitter: 0, startupMs: 100, progressMs: 500 };
  const simulated = { work: { seconds: 0.5, jitter: 0 } };
  const world = stack.use(new HubWorld(await startSurroundings({ spokes, job, simulated, processes: true })));
  const hub = await world.startHubProcess();
  const port = /"port":(\d+)/.exec(await hub.output())?.[1] ?? expect.fail('the hub says no port');
  world.spokes.setFaults(held, { workNeverAvailable: true });
  await createTemplate(world.client, 'night');
  const create = (name: string, spec: Partial<ClusterGroupUpgradeSpec>, annotations = {}) =>
    world.client.create(ClusterGroupUpgrade, {
      metadata: { name, namespace: 'default', annotations },
      spec: { enable: true, remediationStrategy: { maxConcurrency: 1, timeout: 60 }, ...spec },
    });
  const closes = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
  await create('night', { clusters: [done, held, waiting], manifestWorkTemplates: ['night'] }, { 'flotilla.io/window-end': closes });
  await create('ahead', { clusters: [caching], preCaching: true, preCachingConfigRef: { name: 'config', namespace: 'default' } });
  await eventually(async () => (await world.get('night'))?.status?.status.currentBatch === 2, 'the second batch', 60_000);
  await eventually(async () => (await world.get('ahead'))?.status?.precaching?.summary?.bytesTotal, 'bytes to be reported', 60_000);
  return stack.use(
    await startPrometheus({
      targets: [`127.0.0.1:${port}`],
      targetLabels: { namespace: NAMESPACE, pod: 'hub-1', job: 'hub-flotilla-hub' },
    }),
  );
}

test('each query of the dashboard has an answer while a rollout runs, and each variable has values', async () => {
  await ensureDebianPackages(MONITORING_PACKAGES, console.log);
  const file = await readFile(join(CHARTS, 'hub/dashboards/flotilla.json'), 'utf8');
  const { panels, templating } = Dashboard.parse(JSON.parse(file));
  await using stack = new AsyncDisposableStack();
  const prometheus = await startNight(stack);
  const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr: substituted(expr) })));
  expect(panels.filter(({ type, targets }) => type !== 'row' && targets.length === 0)).toEqual([]);
  expect(queries.length).toBeGreaterThan(15);
  let silent: readonly string[] = [];
  // A rate takes two scrapes.
  await eventually(
    async () => {
      const answers = queries.map(async ({ title, expr }) => {
        const { data } = await ask(prometheus, 'query', { query: expr }, Vector);
        return data.result.length > 0 ? [] : [`${title}: ${expr}`];
      });
      silent = (await Promise.all(answers)).flat();
      return silent.length === 0;
    },
    () => `an answer to each of: ${silent.join('\n')}`,
    20_000,
  );
  const variables = templating.list.filter(({ type }) => type === 'query');
  expect(variables.map(({ name }) => name)).toEqual(['namespace', 'upgrade_namespace', 'upgrade']);
  const wanted = { namespace: [NAMESPACE], upgrade_namespace: ['default'], upgrade: ['ahead', 'night'] };
  for (const { name, definition = '' } of variables) {
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? expect.fail(definition);
    const { data } = await ask(prometheus, `label/${label}/values`, { 'match[]': substituted(selector) }, Values);
    expect({ [name]: data }).toEqual({ [name]: wanted[name as keyof typeof wanted] });
  }
});
