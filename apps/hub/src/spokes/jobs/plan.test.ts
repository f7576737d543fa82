import { Label } from '@flotilla/api';
import type { PrecacheState } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import {
  actionObject,
  buildAction,
  buildPrecacheSettings,
  buildSpoke,
  buildTask,
  buildView,
  foundJob,
  foundNamespace,
  reachBuilt,
  recordingClient,
  runStep,
  UPGRADE,
} from '../../../testing/observation-builders.ts';
import type { ActionsSpoke } from '../transports/actions/observe.ts';
import { RETRY_BUDGET, type SpokeTask } from '../transports/port/port.ts';
import type { StepContext } from './kind.ts';
import { createPrecacheJob } from './kinds/precache/job.ts';

const now = 10_000_000;
const job = createPrecacheJob(buildPrecacheSettings());
const context: StepContext<PrecacheState> = {
  job,
  upgradeUid: UPGRADE.uid,
  cluster: 'spoke-1',
  now,
  deadlineAt: now + 60_000,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: undefined,
};
const task = buildTask(job);
const talm = buildTask(job, { profile: 'talm' });

type States = Parameters<typeof runStep<PrecacheState>>[1];

async function step(
  states: States,
  spoke: Partial<ActionsSpoke>,
  options: { task?: SpokeTask; context?: Partial<StepContext<PrecacheState>>; existing?: Parameters<typeof recordingClient>[0] } = {},
) {
  const { client, writes, created } = recordingClient(options.existing);
  const outcome = await runStep(
    options.task ?? task,
    states,
    reachBuilt(job.names, buildSpoke(spoke)),
    { ...context, ...options.context },
    client,
  );
  return { outcome, writes, created };
}

const executed = new Map([['precache-job-create', buildAction()]]);
const creations = ['ns', 'sa', 'spec-cm', 'job'].map((name) => `create managedclusteractions precache-${name}-create`);

describe('writes of a step', () => {
  const rows: { name: string; states: States; spoke: Partial<ActionsSpoke>; writes: string[]; task?: SpokeTask }[] = [
    {
      name: 'start: one view',
      states: { current: 'NotStarted', stored: undefined },
      spoke: {},
      writes: ['create managedclusterviews view-precache-namespace'],
    },
    {
      name: 'preparing with its view: nothing',
      states: { current: 'PreparingToStart', stored: undefined },
      spoke: { namespaceView: buildView({ kind: 'pending' }) },
      writes: [],
    },
    {
      name: 'namespace gone: all actions at once, in order',
      states: { current: 'PreparingToStart', stored: 'PreparingToStart' },
      spoke: { namespaceView: buildView({ kind: 'absent' }) },
      writes: creations,
    },
    {
      name: 'namespace gone on a spoke that went away: nothing',
      states: { current: 'PreparingToStart', stored: 'PreparingToStart' },
      spoke: { available: false, namespaceView: buildView({ kind: 'absent' }) },
      writes: [],
    },
    {
      name: 'namespace there: both deletions',
      states: { current: 'PreparingToStart', stored: 'PreparingToStart' },
      spoke: { namespaceView: buildView(foundNamespace()) },
      writes: ['create managedclusteractions precache-ns-delete', 'create managedclusteractions precache-crb-delete'],
    },
    {
      name: 'namespace there, deletion executed: a view that looks oftener',
      states: { current: 'PreparingToStart', stored: 'PreparingToStart' },
      spoke: {
        namespaceView: buildView(foundNamespace()),
        actions: new Map([
          ['precache-ns-delete', buildAction({ deletes: 'before' })],
          ['precache-crb-delete', buildAction({ deletes: 'before' })],
        ]),
      },
      writes: ['delete managedclusterviews view-precache-namespace view-uid', 'create managedclusterviews view-precache-namespace'],
    },
    {
      name: 'namespace going, looked at often: nothing more',
      states: { current: 'PreparingToStart', stored: 'PreparingToStart' },
      spoke: {
        namespaceView: buildView(foundNamespace(), { intervalSeconds: 2 }),
        actions: new Map([
          ['precache-ns-delete', buildAction({ deletes: 'before' })],
          ['precache-crb-delete', buildAction({ deletes: 'before' })],
        ]),
      },
      writes: [],
    },
    {
      name: 'job created: its view',
      states: { current: 'Starting', stored: 'Starting' },
      spoke: { actions: allExecuted() },
      writes: ['create managedclusterviews view-precache-job'],
    },
    {
      name: 'job created: what only its progress needs follows',
      states: { current: 'Starting', stored: 'Starting' },
      spoke: { actions: withoutRights() },
      writes: [
        'create managedclusteractions precache-role-create',
        'create managedclusteractions precache-rb-create',
        'create managedclusterviews view-precache-job',
      ],
    },
    {
      name: 'job created, profile talm: no view of a progress that is not reported',
      states: { current: 'Starting', stored: 'Starting' },
      spoke: { actions: allExecuted('talm') },
      writes: ['create managedclusterviews view-precache-job'],
      task: talm,
    },
    {
      name: 'a lost job: its view and its action anew',
      states: { current: 'Starting', stored: 'Starting' },
      spoke: { jobView: buildView({ kind: 'absent' }), actions: allExecuted() },
      writes: [
        'delete managedclusterviews view-precache-job view-uid',
        'delete managedclusteractions precache-job-create action-uid',
        'create managedclusteractions precache-job-create',
      ],
    },
    {
      name: 'active: nothing',
      states: { current: 'Active', stored: 'Active' },
      spoke: { jobView: buildView(foundJob({ active: 1 })), actions: executed },
      writes: [],
    },
    {
      name: 'active without its view: a new one, and no job',
      states: { current: 'Active', stored: 'Active' },
      spoke: {},
      writes: ['create managedclusterviews view-precache-job'],
    },
    {
      name: 'succeeded, not stored yet: nothing is cleaned',
      states: { current: 'Active', stored: 'Active' },
      spoke: { jobView: buildView(foundJob({ succeeded: 1 })) },
      writes: [],
    },
    {
      name: 'succeeded and stored: the spoke first',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { jobView: buildView(foundJob({ succeeded: 1 })) },
      writes: [
        'create managedclusteractions precache-ns-delete',
        'deleteCollection managedclusterviews flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1',
      ],
    },
    {
      name: 'succeeded and the spoke is clean: the hub',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { actions: new Map([['precache-ns-delete', buildAction({ deletes: 'after' })]]) },
      writes: ['deleteCollection managedclusteractions flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1'],
    },
    {
      name: 'succeeded, and the deletion of an earlier attempt is still there: another',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { actions: new Map([['precache-ns-delete', buildAction({ deletes: 'before' })]]) },
      writes: ['delete managedclusteractions precache-ns-delete action-uid', 'create managedclusteractions precache-ns-delete'],
    },
    {
      name: 'succeeded, profile talm: the binding to cluster-admin goes too',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { actions: new Map([['precache-ns-delete', buildAction({ deletes: 'after' })]]) },
      writes: ['create managedclusteractions precache-crb-delete'],
      task: talm,
    },
    {
      name: 'succeeded and the spoke is away: no action that would fire when it returns, and a view stays to remember it by',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { available: false, actions: executed, jobView: buildView(foundJob({ succeeded: 1 })) },
      writes: [],
    },
    {
      name: 'succeeded and the spoke is away, with nothing that would stay on the hub: a view to remember it by',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { available: false, actions: executed },
      writes: ['create managedclusterviews view-precache-namespace'],
    },
    {
      name: 'succeeded and the deletion fails: a view to remember it by, since others remove actions that failed',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: { actions: new Map([['precache-ns-delete', buildAction({ deletes: 'after', outcome: 'failed', completedAt: now })]]) },
      writes: ['create managedclusterviews view-precache-namespace'],
    },
    {
      name: 'succeeded and the deletion was executed in spite of all: everything goes',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: {
        namespaceView: buildView({ kind: 'absent' }),
        actions: new Map([['precache-ns-delete', buildAction({ deletes: 'after' })]]),
      },
      writes: [
        'deleteCollection managedclusterviews flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1',
        'deleteCollection managedclusteractions flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1',
      ],
    },
    {
      name: 'succeeded, profile talm, and one of two deletions was asked for before the spoke went away: the view stays',
      states: { current: 'Succeeded', stored: 'Succeeded' },
      spoke: {
        available: false,
        jobView: buildView(foundJob({ succeeded: 1 })),
        actions: new Map([['precache-ns-delete', buildAction({ deletes: 'after' })]]),
      },
      writes: [],
      task: talm,
    },
    { name: 'all clean: nothing', states: { current: 'Succeeded', stored: 'Succeeded' }, spoke: {}, writes: [] },
    {
      name: 'failed and stored: the hub alone, the job stays for whoever asks why',
      states: { current: 'UnrecoverableError', stored: 'UnrecoverableError' },
      spoke: { jobView: buildView(foundJob({})) },
      writes: [
        'deleteCollection managedclusteractions flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1',
        'deleteCollection managedclusterviews flotilla.io/work=precache,flotilla.io/upgrade-uid=uid-1',
      ],
    },
  ];

  test.each(rows)('$name', async ({ states, spoke, writes, task: given }) => {
    expect((await step(states, spoke, given && { task: given })).writes).toEqual(writes);
  });

  test('an action that waits follows the spec when the spec changes', async () => {
    const actions = new Map([['precache-spec-cm-create', buildAction({ outcome: 'pending', template: 'older' })]]);
    const { writes } = await step({ current: 'Starting', stored: 'Starting' }, { actions });
    expect(writes.filter((write) => write.includes('spec-cm'))).toEqual([
      'delete managedclusteractions precache-spec-cm-create action-uid',
      'create managedclusteractions precache-spec-cm-create',
    ]);
  });

  test('an object that somebody else left under our name is replaced', async () => {
    const foreign = { metadata: { name: 'view-precache-namespace', namespace: 'spoke', uid: 'foreign-uid' } };
    const { writes } = await step({ current: 'NotStarted', stored: undefined }, {}, { existing: [foreign] });
    expect(writes).toEqual([
      'create managedclusterviews view-precache-namespace',
      'delete managedclusterviews view-precache-namespace foreign-uid',
      'create managedclusterviews view-precache-namespace',
    ]);
  });

  test('an object of ours that the cache has not seen yet stays', async () => {
    const ours = {
      metadata: { name: 'view-precache-namespace', namespace: 'spoke', uid: 'uid-x', labels: { [Label.upgradeUid]: UPGRADE.uid } },
    };
    const { writes } = await step({ current: 'NotStarted', stored: undefined }, {}, { existing: [ours] });
    expect(writes).toEqual(['create managedclusterviews view-precache-namespace']);
  });
});

describe('at of a step', () => {
  test('at the deadline', async () => {
    const { outcome } = await step({ current: 'PreparingToStart', stored: undefined }, { namespaceView: buildView({ kind: 'pending' }) });
    expect(outcome.at).toBe(context.deadlineAt);
  });

  test('at the deadline, when another upgrade has ended and not cleaned the spoke', async () => {
    const held = { claimedBy: 'ns/other', claimantEnded: true };
    const { outcome, writes } = await step({ current: 'NotStarted', stored: undefined }, { available: false }, { context: held });
    expect([outcome.at, writes]).toEqual([context.deadlineAt, []]);
  });

  test('not by a deadline, when another upgrade works on the spoke', async () => {
    const { outcome } = await step({ current: 'NotStarted', stored: undefined }, {}, { context: { claimedBy: 'ns/other' } });
    expect(outcome.at).toBeUndefined();
  });

  test('not at all once it has ended', async () => {
    expect((await step({ current: 'Succeeded', stored: 'Succeeded' }, {})).outcome.at).toBeUndefined();
  });

  const failedAction = (parts: Parameters<typeof buildAction>[0]) =>
    new Map([['precache-ns-create', buildAction({ outcome: 'failed', ...parts })]]);
  test.each([
    { name: 'the first time after 1 s', parts: { retries: 0, completedAt: now }, at: now + 1000 },
    { name: 'the third time after 4 s', parts: { retries: 2, completedAt: now }, at: now + 4000 },
    { name: 'at most after 60 s', parts: { retries: RETRY_BUDGET - 1, completedAt: now }, at: now + 16_000 },
    {
      name: 'by the hub when the clock of the spoke is ahead',
      parts: { retries: 0, createdAt: now - 500, completedAt: now + 3_600_000 },
      at: now + 500,
    },
    {
      name: 'by the hub when the clock of the spoke is behind',
      parts: { retries: 0, createdAt: now - 500, completedAt: now - 3_600_000 },
      at: now + 500,
    },
  ])('for an action that failed: $name', async ({ parts, at }) => {
    const { outcome, writes } = await step({ current: 'Starting', stored: 'Starting' }, { actions: failedAction(parts) });
    expect(outcome.at).toBe(at);
    expect(writes).not.toContain('create managedclusteractions precache-ns-create');
  });

  test('the right to publish progress is tried again, also when the job is watched already', async () => {
    const actions = new Map([
      ...allExecuted(),
      ['precache-rb-create', buildAction({ outcome: 'failed', retries: 1, completedAt: now - 60_000 })] as const,
    ]);
    const views = { jobView: buildView(foundJob({ active: 1 })) };
    const { writes, outcome } = await step({ current: 'Active', stored: 'Active' }, { actions, ...views });
    expect(outcome.state).toBe('Active');
    expect(writes).toEqual([
      'delete managedclusteractions precache-rb-create action-uid',
      'create managedclusteractions precache-rb-create',
    ]);
  });

  test('an action whose pause is over is created anew, and counts', async () => {
    const { created } = await step(
      { current: 'Starting', stored: 'Starting' },
      { actions: failedAction({ retries: 2, completedAt: now - 4000 }) },
      { existing: [actionObject('precache-ns-create')] },
    );
    const again = created.find(({ metadata }) => metadata.name === 'precache-ns-create');
    expect(again?.metadata.annotations).toMatchObject({ 'flotilla.io/retries': '3' });
  });

  test.each([
    { name: 'a refusal', message: 'namespaces "x" is forbidden: no', refusals: '3' },
    { name: 'an outage', message: 'connect ECONNREFUSED 10.0.0.1:6443', refusals: '2' },
  ])('what $name costs of the budget is kept on the next action', async ({ message, refusals }) => {
    const { created } = await step(
      { current: 'Starting', stored: 'Starting' },
      { actions: failedAction({ retries: 7, refusals: 2, completedAt: now - 120_000, message }) },
      { existing: [actionObject('precache-ns-create')] },
    );
    const again = created.find(({ metadata }) => metadata.name === 'precache-ns-create');
    expect(again?.metadata.annotations).toMatchObject({ 'flotilla.io/retries': '8', 'flotilla.io/refusals': refusals });
  });
});

describe('a spoke whose annotations cannot be used', () => {
  const problem = 'annotation flotilla.io/runtime-storage of the ManagedCluster is "/"';
  const free = { namespaceView: buildView({ kind: 'absent' }) };

  test.each(['NotStarted', 'PreparingToStart', 'Starting'] as const)('in %s: nothing is written, and the reason is told', async (state) => {
    const { writes, outcome } = await step({ current: state, stored: state }, free, { context: { problem } });
    expect(writes).toEqual([]);
    expect(outcome).toEqual({ state, message: problem, at: now + 60_000 });
  });

  test('goes on at the next step once they are mended', async () => {
    const { writes } = await step({ current: 'NotStarted', stored: 'NotStarted' }, free, { context: { problem: undefined } });
    expect(writes).toContain('create managedclusteractions precache-job-create');
  });

  test('is cleaned all the same', async () => {
    const spoke = { actions: allExecuted() };
    const { writes } = await step({ current: 'Succeeded', stored: 'Succeeded' }, spoke, { context: { problem } });
    expect(writes).toContain('create managedclusteractions precache-ns-delete');
  });
});

test('a job without a pod is requeued for the time of its message', async () => {
  const views = { jobView: buildView(foundJob({}), { createdAt: now - 10_000 }) };
  const { outcome } = await step({ current: 'Starting', stored: 'Starting' }, { actions: allExecuted(), ...views });
  expect(outcome.at).toBe(now + 20_000);
});

function allExecuted(profile: 'talm' | 'least-privilege' = 'least-privilege') {
  const names = profile === 'talm' ? ['ns', 'sa', 'crb', 'spec-cm', 'job'] : ['ns', 'sa', 'role', 'rb', 'spec-cm', 'job'];
  return new Map(names.map((name) => [`precache-${name}-create`, buildAction()]));
}

function withoutRights() {
  const actions = allExecuted();
  for (const name of ['role', 'rb']) actions.delete(`precache-${name}-create`);
  return actions;
}
