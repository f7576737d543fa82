import { ManifestWork, transportCrds } from '@flotilla/api/ocm';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { expect, test } from 'vitest';
import { readReports } from './spoke-reports.ts';

const applied = { type: 'Applied', reason: 'r', message: 'cannot be applied: denied', lastTransitionTime: '2026-11-01T00:00:00Z' };
type Manifests = NonNullable<NonNullable<NonNullable<ManifestWork['status']>['resourceStatus']>['manifests']>;

/** The reports on a spoke that has one work with this feedback. */
async function reportsOf(manifests: Manifests) {
  const client = new MemoryServer({ crds: transportCrds(), namespaces: ['s1'] }).client();
  const { metadata } = await client.create(ManifestWork, {
    metadata: { namespace: 's1', name: 'w' },
    spec: { workload: { manifests: [] } },
  });
  await client.patch(ManifestWork, metadata, { status: { resourceStatus: { manifests } } }, { type: 'merge', subresource: 'status' });
  const { reports, reportsWhy } = await readReports(client, 's1');
  expect(reportsWhy).toBeNull();
  return reports;
}

const raw = (value: unknown) => ({ name: 'Steps', fieldValue: { type: 'JsonRaw', jsonRaw: JSON.stringify(value) } });

test('values are values, conditions are steps, and what says nothing is left out', async () => {
  const reports = await reportsOf([
    {
      resourceMeta: { ordinal: 0, kind: 'UpgradeConfig', namespace: 'ops', name: 'up' },
      conditions: [{ ...applied, status: 'True' }],
      statusFeedback: {
        values: [
          { name: 'Phase', fieldValue: { type: 'String', string: 'Upgrading' } },
          { name: 'Nodes', fieldValue: { type: 'Integer', integer: 0 } },
          raw([{ type: 'ControlPlaneUpgraded', status: 'False', waitingFor: 'etcd', startTime: '2026-11-01T01:00:00Z' }]),
        ],
      },
    },
    { resourceMeta: { ordinal: 1, kind: 'Namespace', name: 'quiet' }, conditions: [{ ...applied, status: 'True' }] },
    { resourceMeta: { ordinal: 2, kind: 'Secret', name: 'refused' }, conditions: [{ ...applied, status: 'False' }] },
  ]);
  expect(reports).toEqual([
    {
      object: 'UpgradeConfig ops/up',
      kind: 'UpgradeConfig',
      work: 's1/w',
      applied: 'yes',
      says: null,
      at: '2026-11-01T00:00:00Z',
      values: [
        { name: 'Phase', value: 'Upgrading' },
        { name: 'Nodes', value: '0' },
      ],
      steps: [{ name: 'ControlPlaneUpgraded', state: 'not-done', says: 'etcd', at: '2026-11-01T01:00:00Z' }],
    },
    expect.objectContaining({ object: 'Secret refused', applied: 'no', says: 'cannot be applied: denied' }),
  ]);
});

test.each([['{'], ['[]'], ['[1]'], ['{"a":1}'], ['x'.repeat(1_000)]])(
  'JSON that is no list of conditions stays a value: %.20s',
  async (jsonRaw) => {
    const [report] = await reportsOf([
      {
        resourceMeta: { ordinal: 0, kind: 'A', name: 'a' },
        conditions: [],
        statusFeedback: { values: [{ name: 'v', fieldValue: { type: 'JsonRaw', jsonRaw } }] },
      },
    ]);
    expect(report?.steps).toEqual([]);
    expect(report?.values[0]?.value.length).toBeLessThanOrEqual(600);
  },
);
