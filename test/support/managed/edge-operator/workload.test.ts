import { expect, test } from 'vitest';
import { reportOf, Workload, workloadOf } from './workload.ts';

const settings = { name: 'gateway', namespace: 'openshift-edge', release: '4.20.2', image: 'registry.test/gateway@sha256:1' };
const workload = (counts: Record<string, number>): Workload =>
  Workload.schema.parse({ metadata: { name: 'gateway', generation: 2 }, status: counts });
const running = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };

test.each([
  { name: 'nothing has looked at it yet', counts: {}, want: { available: 'False', progressing: 'True', running: [] } },
  {
    name: 'the old generation is available',
    counts: { ...running, observedGeneration: 1 },
    want: { available: 'True', progressing: 'True', running: [] },
  },
  {
    name: 'the new pod is not ready beside the old one',
    counts: { ...running, replicas: 2 },
    want: { available: 'True', progressing: 'True', running: [] },
  },
  { name: 'it is rolled out', counts: running, want: { available: 'True', progressing: 'False', running: ['4.20.2'] } },
])('an operator reports when $name', ({ counts, want }) => {
  const { conditions, operands, version } = reportOf(settings, workload(counts));
  expect(version).toBe('4.20.2');
  expect({ available: conditions.Available.status, progressing: conditions.Progressing.status, running: operands[0]?.running }).toEqual(
    want,
  );
});

test('the pods are of the image and the version that the release names', () => {
  expect(workloadOf(settings).spec).toMatchObject({
    template: { metadata: { labels: { version: '4.20.2' } }, spec: { containers: [{ image: settings.image }] } },
  });
});
