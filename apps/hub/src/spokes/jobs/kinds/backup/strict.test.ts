import { BackupAction, BackupName, type BackupState, BackupView } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import {
  actionObject,
  buildAction,
  buildSpoke,
  buildView,
  reachBuilt,
  recordingClient,
  runStep,
  UPGRADE,
  viewObject,
} from '../../../../../testing/observation-builders.ts';
import { trimView } from '../../../../trims.ts';
import { templateDigest } from '../../../transports/actions/hub-objects.ts';
import { type ActionsSpoke, observeActions } from '../../../transports/actions/observe.ts';
import type { Answer, SpokeTask } from '../../../transports/port/port.ts';
import type { StepContext } from '../../kind.ts';
import { createBackupJob } from './job.ts';

const NOW = 1_000_000;
const job = createBackupJob({ jobViewSeconds: 4, image: 'recovery', talmStrict: true });
const context: StepContext<BackupState> = {
  job,
  upgradeUid: UPGRADE.uid,
  cluster: 'spoke',
  now: NOW,
  deadlineAt: 2_000_000,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: undefined,
};
const target = { upgradeUid: UPGRADE.uid, managed: undefined, clusters: 1 };
const task: SpokeTask = { job, upgrade: UPGRADE, cluster: 'spoke', workload: job.workload({ image: 'recovery' }, target) };

const absent = buildView({ kind: 'absent' });
const namespace: Answer = { kind: 'found', object: { kind: 'Namespace', metadata: { name: BackupName.namespace } } };
const found = buildView(namespace);
const [deletesNamespace, deletesBinding] = [BackupAction.deleteNamespace, BackupAction.deleteClusterRoleBinding];
const deletions = (parts: Parameters<typeof buildAction>[0]): [string, ReturnType<typeof buildAction>][] =>
  [deletesNamespace, deletesBinding].map((name) => [name, buildAction({ deletes: 'before', ...parts })]);
const dependencies = [BackupAction.createNamespace, BackupAction.createServiceAccount, BackupAction.createClusterRoleBinding];
/** Every action of the workload, not executed yet. */
const made = task.workload
  .manifests()
  .map(({ action, template }): [string, ReturnType<typeof buildAction>] => [
    action,
    buildAction({ outcome: 'pending', template: templateDigest(template) }),
  ]);
const asked = made.filter(([name]) => name !== BackupAction.createJob);
const create = (...names: readonly string[]) => names.map((name) => `create managedclusteractions ${name}`);
const look = `create managedclusterviews ${BackupView.namespace}`;
const watch = `create managedclusterviews ${BackupView.job}`;

interface Row {
  readonly name: string;
  readonly stored?: BackupState;
  readonly spoke: Partial<ActionsSpoke>;
  readonly existing?: readonly string[];
  readonly writes: readonly string[];
}

const rows: Row[] = [
  {
    name: 'deletions come first, and the view of the namespace after them',
    spoke: {},
    writes: [...create(deletesNamespace, deletesBinding), look],
  },
  {
    name: 'no view without deletions, which a cluster that is away is not asked for',
    stored: 'Starting',
    spoke: { available: false },
    writes: [],
  },
  {
    name: 'deletions under way are waited for',
    stored: 'Starting',
    spoke: { namespaceView: absent, actions: new Map(deletions({ outcome: 'pending' })) },
    writes: [],
  },
  {
    name: 'all dependencies are asked for at once when the deletions were executed',
    stored: 'Starting',
    spoke: { namespaceView: absent, actions: new Map(deletions({})) },
    writes: create(...dependencies),
  },
  {
    name: 'also when the deletions have been tidied away since',
    stored: 'Starting',
    spoke: { namespaceView: absent },
    writes: create(...dependencies),
  },
  {
    name: 'not while they are only missing in a cache that is behind',
    stored: 'Starting',
    spoke: { namespaceView: absent },
    existing: [deletesBinding],
    writes: [],
  },
  {
    name: 'a deletion that was tidied away is not asked for again while the other is under way',
    stored: 'Starting',
    spoke: { namespaceView: absent, actions: new Map(deletions({ outcome: 'pending' }).slice(1)) },
    writes: [],
  },
  {
    name: 'but for a namespace that is still there',
    stored: 'Starting',
    spoke: { namespaceView: found },
    writes: create(deletesNamespace),
  },
  {
    name: 'nothing more until the namespace is seen',
    stored: 'Starting',
    spoke: { namespaceView: absent, actions: new Map(asked) },
    writes: [],
  },
  {
    name: 'then the job and its view, though none of the actions says that it was executed',
    stored: 'Starting',
    spoke: { namespaceView: found, actions: new Map(asked) },
    writes: [...create(BackupAction.createJob), watch],
  },
  {
    name: 'a job that is not there yet is waited for',
    stored: 'Starting',
    spoke: { namespaceView: found, jobView: absent, actions: new Map(made) },
    writes: [],
  },
  {
    name: 'a view from before the job was made is made anew, and the job is not',
    stored: 'Starting',
    spoke: {
      namespaceView: found,
      jobView: { ...absent, createdAt: NOW - 90_000 },
      actions: new Map([...asked, [BackupAction.createJob, buildAction({ createdAt: NOW - 90_000, completedAt: NOW - 60_000 })]]),
    },
    writes: [`delete managedclusterviews ${BackupView.job} view-uid`, watch],
  },
];

describe('a backup as the reference takes it', () => {
  test.each(rows)('$name', async ({ stored = 'PreparingToStart', spoke, existing = [], writes: expected }) => {
    const { client, writes } = recordingClient(existing.map((name) => actionObject(name)));
    const reach = reachBuilt(job.names, buildSpoke(spoke));
    await runStep(task, { current: stored, stored }, reach, context, client);
    expect(writes).toEqual(expected);
  });
});

describe('an answer counts for what was asked, whatever it says of whose it is', () => {
  const getting = (result?: unknown) => ({
    conditions: [
      { type: 'Processing', status: 'True', reason: 'GetResourceProcessing', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
    ...(result !== undefined && { result }),
  });
  const views = [viewObject(BackupView.namespace, getting()), viewObject(BackupView.job, getting({ status: { active: 1 } }))];
  const observe = (names: typeof job.names) =>
    observeActions(names, UPGRADE.uid, { cluster: undefined, views: views.map(trimView), actions: [] });

  test('strictly', () => {
    const { namespaceView, jobView } = observe(job.names);
    expect(namespaceView?.answer.kind).toBe('found');
    expect(jobView?.answer).toMatchObject({ kind: 'found', object: { kind: 'Job', status: { active: 1 } } });
  });

  test('and for nothing otherwise', () => {
    const { namespaceView, jobView } = observe(createBackupJob({ jobViewSeconds: 4 }).names);
    expect([namespaceView?.answer.kind, jobView?.answer.kind]).toEqual(['unknown', 'unknown']);
  });
});
