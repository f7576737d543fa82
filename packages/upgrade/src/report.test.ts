import { type UpgradeConfig, UpgradeConfig as UpgradeConfigKind, type UpgradeHistory } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { buildSpec } from '../testing/upgrade-builders.ts';
import { reportUpgrade } from './report.ts';

const build = (...history: UpgradeHistory[]): UpgradeConfig =>
  UpgradeConfigKind.schema.parse({ metadata: { name: 'managed-upgrade-config' }, spec: buildSpec(), status: { history } });
const TIME = '2026-02-01T10:00:00Z';
const entry = (rest: Partial<UpgradeHistory>): UpgradeHistory => ({
  version: '4.14.12',
  precedingVersion: '4.14.9',
  phase: 'Upgrading',
  ...rest,
});

test('an upgrade before its first reconcile has all steps left', () => {
  const report = reportUpgrade(build());
  expect(report).toMatchObject({ phase: 'unseen', to: '4.14.12', upgradeAt: '2026-02-01T10:00:00Z', complaints: [] });
  expect(report.steps).toHaveLength(17);
  expect(report.steps.every(({ state }) => state === 'left')).toBe(true);
});

test('a running upgrade has steps that are done, waiting with reason and time, failing, or left', () => {
  const conditions = [
    {
      type: 'ComputeCapacityReserved',
      status: 'False' as const,
      message: 'x still in progress',
      waitingFor: 'node n',
      lastTransitionTime: TIME,
    },
    { type: 'ClusterHealthyBeforeUpgrade', status: 'False' as const, message: 'degraded operators: a', startTime: TIME },
    { type: 'StartedNotificationSent', status: 'True' as const, completeTime: TIME },
  ];
  const { steps, from } = reportUpgrade(build(entry({ conditions })));
  expect(from).toBe('4.14.9');
  expect(steps.slice(0, 7)).toEqual([
    { step: 'send-started-notification', state: 'done', since: TIME },
    { step: 'report-delay', state: 'done' },
    { step: 'check-upgradable', state: 'left' },
    { step: 'check-health-before', state: 'failing', since: TIME, what: 'degraded operators: a' },
    { step: 'check-dependencies', state: 'left' },
    { step: 'reserve-capacity', state: 'waiting', since: TIME, what: 'node n' },
    { step: 'open-control-plane-window', state: 'left' },
  ]);
});

test('a step that the upgrade went on without is neither done nor failing', () => {
  const type = 'WorkerNodesUpgraded';
  const conditions = [
    {
      type,
      status: 'False' as const,
      reason: `${type} skipped`,
      message: `${type} was skipped: a pool is paused`,
      lastTransitionTime: TIME,
    },
  ];
  const { steps } = reportUpgrade(build(entry({ phase: 'Upgraded', conditions })));
  expect(steps.find(({ step }) => step === 'await-workers')).toEqual({
    step: 'await-workers',
    state: 'skipped',
    since: TIME,
    what: 'a pool is paused',
  });
});

test('problems are reported: validation, configuration, unsent notifications', () => {
  const conditions = [
    { type: 'Validated', status: 'False' as const, message: 'a downgrade' },
    { type: 'OperatorConfigured', status: 'True' as const, message: 'valid' },
  ];
  const notifications = [
    { state: 'StateStarted', message: 'refused' },
    { state: 'StateDelayed', time: TIME, message: 'once' },
  ];
  expect(reportUpgrade(build(entry({ phase: 'Pending', conditions, notifications }))).complaints).toEqual([
    'a downgrade',
    'StateStarted is still to be told: refused',
  ]);
});

test('a change that waits for the end of the upgrade is said, and the steps are those of the upgrade', () => {
  const begunWith = { type: 'OSD' as const, upgradeAt: TIME, desired: { version: '4.14.12', channel: 'stable-4.14' } };
  const conditions = [{ type: 'SpecSynced', status: 'False' as const, message: 'the UpgradeConfig asks for 4.15.3: held' }];
  const asked = build(entry({ begunWith, conditions }));
  const report = reportUpgrade({ ...asked, spec: { ...asked.spec, type: 'ARO', desired: { version: '4.15.3' } } });
  expect(report).toMatchObject({ phase: 'Upgrading', to: '4.14.12', complaints: ['the UpgradeConfig asks for 4.15.3: held'] });
  expect(report.steps).toHaveLength(17);
});

test('what keeps the operator from its work is a complaint', () => {
  const said = { type: 'Reconciled', status: 'False' as const, reason: 'DrainFailed', message: 'node worker-0: denied by policy' };
  expect(reportUpgrade(build(entry({ conditions: [said] }))).complaints).toEqual(['node worker-0: denied by policy']);
});
