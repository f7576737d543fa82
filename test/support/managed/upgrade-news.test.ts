import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { newsOf } from './upgrade-news.ts';

const VERSION = '4.20.2';
const condition = (type: string, status: string, more: object = {}) => ({ type, status, ...more });
const config = (entry?: object) =>
  UpgradeConfig.schema.parse({
    metadata: { name: 'managed-upgrade-config', namespace: 'openshift-managed-upgrade-operator' },
    spec: {
      type: 'OSD',
      upgradeAt: '2026-01-01T00:00:00Z',
      PDBForceDrainTimeout: 60,
      desired: { version: VERSION, channel: 'stable-4.20' },
    },
    status: entry && { history: [{ version: VERSION, precedingVersion: '4.20.1', ...entry }] },
  });
const version = (state: string) =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x', desiredUpdate: { version: VERSION } },
    status: { history: [{ state, version: VERSION, startedTime: '2026-01-01T00:00:00Z', image: 'r/2', verified: true }] },
  });
const operator = (name: string, of: string) =>
  ClusterOperator.schema.parse({ metadata: { name }, spec: {}, status: { versions: [{ name: 'operator', version: of }] } });

const begun = {
  phase: 'Upgrading',
  conditions: [
    condition(UpgradeCondition.healthyBefore, 'False', { message: 'critical alerts fire' }),
    condition(UpgradeCondition.isClusterUpgradable, 'True'),
    condition(UpgradeCondition.startedNotificationSent, 'True'),
  ],
};

test.each([
  { name: 'nothing is asked for', state: { upgradeConfig: undefined, clusterVersion: undefined, operators: [] }, want: [] },
  {
    name: 'it has arrived',
    state: { upgradeConfig: config(), clusterVersion: undefined, operators: [] },
    want: ['UpgradeConfig is there: OSD, version 4.20.2'],
  },
  {
    name: 'a step is tried again',
    state: { upgradeConfig: config(begun), clusterVersion: undefined, operators: [] },
    want: [
      'UpgradeConfig is there: OSD, version 4.20.2',
      'step  1 of 17  send-started-notification',
      'step  2 of 17  report-delay',
      'step  3 of 17  check-upgradable',
      'step  4 of 17  check-health-before is tried again: critical alerts fire',
    ],
  },
  {
    name: 'the release is being applied',
    state: {
      upgradeConfig: config({ phase: 'Upgrading', conditions: [condition(UpgradeCondition.commenced, 'True')] }),
      clusterVersion: version('Partial'),
      operators: [operator('gateway', VERSION), operator('store', '4.20.1')],
    },
    want: [
      'UpgradeConfig is there: OSD, version 4.20.2',
      'step  8 of 17  commence',
      'ClusterVersion desires 4.20.2',
      'release 4.20.2 is taken, its signature checked',
      'ClusterOperator gateway is of 4.20.2',
    ],
  },
  {
    name: 'it is over',
    state: { upgradeConfig: config({ phase: 'Upgraded', conditions: [] }), clusterVersion: version('Completed'), operators: [] },
    want: [
      'UpgradeConfig is there: OSD, version 4.20.2',
      'ClusterVersion desires 4.20.2',
      'release 4.20.2 is taken, its signature checked',
      'release 4.20.2 is applied',
      'UpgradeConfig is Upgraded',
    ],
  },
])('a spoke says what there is when $name', ({ state, want }) => expect(newsOf(state, VERSION)).toEqual(want));

test('an UpgradeConfig of an earlier version says nothing', () => {
  expect(newsOf({ upgradeConfig: config(), clusterVersion: undefined, operators: [] }, '4.20.3')).toEqual([]);
});
