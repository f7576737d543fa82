import { ClusterOperator } from '@flotilla/api/config';
import { createMetrics, serveSamples } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { type Sample, VERSION_METRICS } from './samples.ts';
import { Tallies } from './version-metrics.ts';

const operator = (conditions: Record<string, string>) =>
  ClusterOperator.schema.parse({
    metadata: { name: 'dns' },
    spec: {},
    status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
  });

test('a scrape says what is so now, and nothing that was', async () => {
  const metrics = createMetrics({ process: false });
  let samples: Sample[] = [{ metric: 'cluster_version_capability', labels: { name: 'Build' }, value: 1 }];
  const served = serveSamples(metrics, VERSION_METRICS, () => samples);
  expect(await metrics.registry.metrics()).toContain('cluster_version_capability{name="Build"} 1');
  samples = [{ metric: 'cluster_operator_up', labels: { name: 'dns', version: '1', reason: '' }, value: 0 }];
  const text = await metrics.registry.metrics();
  expect(text).toContain('cluster_operator_up{name="dns",version="1",reason=""} 0');
  expect(text).not.toContain('Build');
  expect(text).toContain('# TYPE cluster_version gauge');
  served[Symbol.dispose]();
  expect(await metrics.registry.metrics()).not.toContain('cluster_');
});

test('transitions are flips, and conditions that come and go', () => {
  const tallies = new Tallies();
  const up = operator({ Available: 'True', Degraded: 'False' });
  const down = operator({ Available: 'False', Degraded: 'False' });
  tallies.countTransitions('dns', undefined, up);
  tallies.countTransitions('dns', up, up);
  tallies.countTransitions('dns', up, down);
  tallies.countTransitions('dns', down, undefined);
  expect(Object.fromEntries(tallies.samples().map(({ labels, value }) => [labels.condition, value]))).toEqual({
    Available: 3,
    Degraded: 2,
  });
});

test('failed passes are counted by version', () => {
  const tallies = new Tallies();
  for (const version of ['1', '2', '1']) tallies.countFailure(version);
  expect(tallies.samples()).toEqual([
    { metric: 'cluster_operator_payload_errors', labels: { version: '1' }, value: 2 },
    { metric: 'cluster_operator_payload_errors', labels: { version: '2' }, value: 1 },
  ]);
});
