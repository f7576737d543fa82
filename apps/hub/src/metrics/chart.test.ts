import { readFile } from 'node:fs/promises';
import { createMetrics } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { FLEET_METRICS, PROCESS_METRICS } from './samples.ts';

const CHART = new URL('../../../../charts/hub/', import.meta.url);

test('alerts and dashboards of the chart ask for metrics and labels that there are', async () => {
  const files = ['templates/alerts.yaml', 'dashboards/flotilla.json'].map((file) => new URL(file, CHART));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const base = createMetrics({ process: false })
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  const known = new Map<string, readonly string[]>(
    Object.entries({ ...FLEET_METRICS, ...PROCESS_METRICS }).map(([name, { labels }]) => [name, labels]),
  );
  const asked = texts.flatMap((text) => [
    ...text.matchAll(/\b(flotilla_[a-z_]+)(?:\{ \{\{- \$ours -\}\}([^}]*)\}|\{namespace=[\\\\]*"\$namespace[\\\\]*"([^}]*)\})?/g),
  ]);
  expect(asked.length).toBeGreaterThan(15);
  const unknown = asked.flatMap(([, name = '', matchers = '']) => {
    const labels = known.get(name);
    if (!labels) return base.includes(name) || base.includes(name.replace(/_(count|sum|bucket)$/, '')) ? [] : [name];
    return [...matchers.matchAll(/(\w+)!?=/g)].flatMap(([, label = '']) => (labels.includes(label) ? [] : [`${name}{${label}}`]));
  });
  expect(unknown).toEqual([]);
});
