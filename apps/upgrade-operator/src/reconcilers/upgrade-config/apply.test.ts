import { ClusterVersion } from '@flotilla/api/config';
import { UpgradeConfig } from '@flotilla/api/managed';
import { type StepEnd, type StepName, stepConditions } from '@flotilla/upgrade';
import { expect, test } from 'vitest';
import { NOW } from '../../../testing/step-case.ts';
import { done, failed, type Step, type StepContext, type StepOutcome, skipped, waiting } from '../../steps/step.ts';
import { walkSteps } from './apply.ts';
import { Timers } from './retries.ts';
import { UpgradeDraft } from './status.ts';

const upgradeConfig = UpgradeConfig.schema.parse({
  metadata: { name: 'managed-upgrade-config', uid: 'u' },
  spec: { type: 'OSD', upgradeAt: '', PDBForceDrainTimeout: 0, desired: { version: '4.14.12', channel: 'c' } },
});
const clusterVersion = ClusterVersion.schema.parse({
  metadata: { name: 'version' },
  spec: { clusterID: 'x' },
  status: { desired: { version: '4.14.9', image: 'i' } },
});

interface Given {
  readonly steps: readonly (readonly [StepName, StepOutcome | Error])[];
  readonly isCommenced?: boolean;
  /** Steps that end with the commencement. */
  readonly ends?: readonly StepName[];
  /** Ends of steps in an earlier pass. */
  readonly before?: readonly (readonly [StepName, StepEnd])[];
}

async function walk({ steps, isCommenced = false, ends = [], before = [] }: Given) {
  const draft = new UpgradeDraft(upgradeConfig, clusterVersion, () => NOW);
  const timers = new Timers();
  const ran: string[] = [];
  const list = steps.map(
    ([name, outcome]): Step => ({
      name,
      endsWithCommencement: ends.includes(name),
      async run() {
        ran.push(name);
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
    }),
  );
  const { signal } = new AbortController();
  for (const [name, outcome] of before) draft.endStep(stepConditions[name], outcome);
  const contextOf = () => ({ isCommenced, entry: draft.entry, signal }) as StepContext;
  const result = await walkSteps(list, draft, contextOf, timers);
  const statusOf = (name: StepName) => draft.entry.conditions?.find(({ type }) => type === stepConditions[name]);
  return { result, ran, statusOf, timers: timers.result };
}

test('walks until a step is not done; those after it are not begun', async () => {
  const { result, ran, statusOf, timers } = await walk({
    steps: [
      ['check-upgradable', done],
      ['reserve-capacity', waiting('node n', 500)],
      ['commence', done],
    ],
  });
  expect(result).toEqual({ isDone: false });
  expect(ran).toEqual(['check-upgradable', 'reserve-capacity']);
  expect(statusOf('check-upgradable')?.status).toBe('True');
  expect(statusOf('reserve-capacity')).toMatchObject({ status: 'False', waitingFor: 'node n' });
  expect(statusOf('commence')).toBeUndefined();
  expect(timers).toEqual({ requeueAfterMs: 500 });
});

test('a step that was skipped is not done, the next one begins, and it stays skipped once the cluster was sent', async () => {
  const wanted = { status: 'False', reason: 'ComputeCapacityReserved skipped', message: 'ComputeCapacityReserved was skipped: no quota' };
  const early = await walk({
    steps: [
      ['reserve-capacity', skipped('no quota')],
      ['commence', done],
    ],
  });
  expect([early.result, early.statusOf('commence')?.status]).toEqual([{ isDone: true }, 'True']);
  expect(early.statusOf('reserve-capacity')).toMatchObject(wanted);
  const later = await walk({
    steps: [['reserve-capacity', done]],
    ends: ['reserve-capacity'],
    before: [['reserve-capacity', skipped('no quota')]],
    isCommenced: true,
  });
  expect(later.ran).toEqual([]);
  expect(later.statusOf('reserve-capacity')).toMatchObject(wanted);
});

test('what a step throws is told of like what it says', async () => {
  for (const outcome of [failed('no'), new Error('no')]) {
    const { result, statusOf } = await walk({ steps: [['check-dependencies', outcome]] });
    expect(result).toEqual({ isDone: false, failure: { step: 'check-dependencies', message: 'no' } });
    expect(statusOf('check-dependencies')).toMatchObject({
      status: 'False',
      reason: 'ExternalDependenciesAvailable not done',
      message: 'no',
    });
  }
});

test('a step that goes on has the next one begun, and says how it is', async () => {
  const { result, ran, statusOf } = await walk({
    steps: [
      ['send-started-notification', { kind: 'failed', message: 'refused', goesOn: true }],
      ['report-delay', done],
      ['commence', done],
    ],
  });
  expect(result).toEqual({ isDone: true });
  expect(ran).toHaveLength(3);
  // The two share a condition: the one that is not done has it.
  expect(statusOf('send-started-notification')).toMatchObject({ status: 'False', message: 'refused' });
});

test('a step that ends with the commencement is done then, without being run', async () => {
  const { result, ran, statusOf } = await walk({
    steps: [['reserve-capacity', failed('no')]],
    isCommenced: true,
    ends: ['reserve-capacity'],
  });
  expect(result).toEqual({ isDone: true });
  expect(ran).toEqual([]);
  expect(statusOf('reserve-capacity')?.status).toBe('True');
});

test('of several timers the earliest counts', async () => {
  const { timers } = await walk({
    steps: [
      ['report-delay', { ...done, afterMs: 900 }],
      ['check-upgradable', { ...done, afterMs: 300 }],
      ['commence', waiting('x', 600)],
    ],
  });
  expect(timers).toEqual({ requeueAfterMs: 300 });
});
