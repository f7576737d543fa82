import { ClusterVersion } from '@flotilla/api/config';
import { MachineConfigPool } from '@flotilla/api/machine';
import type { UpgradeHistory } from '@flotilla/api/managed';
import { upgraders } from '@flotilla/upgrade';
import { describe, expect, test } from 'vitest';
import { testConfig } from '../../../testing/test-config.ts';
import { givesUpAt, momentsOf, poolFacts } from './plan.ts';

const NOW = Date.parse('2026-02-01T10:00:00Z');
const entry = (rest: Partial<UpgradeHistory> = {}): UpgradeHistory => ({
  version: '4.14.12',
  phase: 'Upgrading',
  startTime: '2026-02-01T09:00:00Z',
  ...rest,
});
const off = { ...testConfig, upgradeWindow: { delayTrigger: 30, timeOut: 0 } };

test.each([
  {
    name: 'at the end of its window',
    config: testConfig,
    type: 'OSD' as const,
    isCommenced: false,
    given: entry(),
    want: '2026-02-01T11:00:00.000Z',
  },
  { name: 'never once the cluster was sent', config: testConfig, type: 'OSD' as const, isCommenced: true, given: entry(), want: undefined },
  { name: 'never without a window', config: off, type: 'OSD' as const, isCommenced: false, given: entry(), want: undefined },
  { name: 'never by ARO', config: testConfig, type: 'ARO' as const, isCommenced: false, given: entry(), want: undefined },
  {
    name: 'never before it began',
    config: testConfig,
    type: 'OSD' as const,
    isCommenced: false,
    given: entry({ startTime: undefined }),
    want: undefined,
  },
])('is given up $name', ({ config, type, isCommenced, given, want }) => {
  const at = givesUpAt(given, config, upgraders[type], isCommenced);
  expect(at && new Date(at).toISOString()).toBe(want);
});

describe('of the pools', () => {
  const cluster = (updated: number, state: 'Completed' | 'Partial', configuration = 'new') => ({
    clusterVersion: ClusterVersion.schema.parse({
      metadata: { name: 'version' },
      spec: { clusterID: 'c' },
      status: {
        history: [{ state, startedTime: '2026-02-01T09:05:00Z', completionTime: null, version: '4.14.12', image: 'i', verified: true }],
      },
    }),
    clusterOperators: [],
    nodes: [],
    machineSets: [],
    machines: [],
    pools: [
      MachineConfigPool.schema.parse({
        metadata: { name: 'worker' },
        spec: { configuration: { name: configuration } },
        status: { machineCount: 2, updatedMachineCount: updated, configuration: { name: configuration } },
      }),
    ],
  });
  const now = '2026-02-01T10:00:00Z';
  test.each([
    {
      name: 'their configurations before the cluster is sent',
      given: entry(),
      updated: 2,
      isCommenced: false,
      want: { poolConfigurations: { worker: 'new' } },
    },
    { name: 'when workers began', given: entry(), updated: 1, isCommenced: true, want: { workerStartTime: now } },
    {
      name: 'that they began, also when some are done already',
      given: entry(),
      updated: 0,
      isCommenced: true,
      want: { workerStartTime: now },
    },
    { name: 'nothing twice', given: entry({ workerStartTime: '2026-02-01T09:30:00Z' }), updated: 1, isCommenced: true, want: {} },
    {
      name: 'when workers were done',
      given: entry({ workerStartTime: '2026-02-01T09:30:00Z' }),
      updated: 2,
      isCommenced: true,
      want: { workerCompleteTime: now },
    },
    {
      name: 'their configurations while the version that an UpgradeConfig before has sent the cluster to is applied',
      given: entry(),
      updated: 2,
      isCommenced: true,
      state: 'Partial' as const,
      want: { poolConfigurations: { worker: 'new' } },
    },
    {
      name: 'nothing while none has begun',
      given: entry({ poolConfigurations: { worker: 'new' } }),
      updated: 2,
      isCommenced: true,
      want: {},
    },
  ])('$name', ({ given, updated, isCommenced, state = 'Completed' as const, want }) =>
    expect(poolFacts(given, cluster(updated, state), isCommenced, NOW)).toEqual(want),
  );
});

test('moments are those of the status', () => {
  const at = '2026-02-01T09:10:00Z';
  const conditions = [{ type: 'UpgradeCommenced', status: 'True' as const, completeTime: at }];
  expect(momentsOf(entry({ conditions }))).toEqual([
    ['upgrade_started', Date.parse('2026-02-01T09:00:00Z')],
    ['controlplane_upgrade_started', Date.parse(at)],
  ]);
  expect(momentsOf(entry({ conditions, phase: 'Failed' }))).toEqual([]);
});
