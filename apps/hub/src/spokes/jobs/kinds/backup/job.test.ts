import { BackupName, type BackupState } from '@flotilla/api/ran';
import { saidOf } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { buildAction, buildSpoke, buildView, UPGRADE } from '../../../../../testing/observation-builders.ts';
import { type ActionsSpoke, toObservation } from '../../../transports/actions/observe.ts';
import { type Answer, RETRY_BUDGET } from '../../../transports/port/port.ts';
import type { StepContext } from '../../kind.ts';
import { decide } from '../../plan.ts';
import { createBackupJob } from './job.ts';

const job = createBackupJob({ jobViewSeconds: 4 });
const context: StepContext<BackupState> = {
  job,
  upgradeUid: UPGRADE.uid,
  cluster: 'spoke-1',
  now: 1_000_000,
  deadlineAt: 2_000_000,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: undefined,
};
const late = { ...context, now: 2_000_000 };
const JUST_NOW = context.now - 1000;

const FORBIDDEN = 'clusterrolebindings.rbac.authorization.k8s.io is forbidden: User "agent" cannot create';
const absent: Answer = { kind: 'absent' };
const found = (status: unknown): Answer => ({
  kind: 'found',
  object: { kind: 'Job', metadata: { name: BackupName.job, namespace: BackupName.namespace }, status },
});
const failed = (reason: string, message: string) => found({ failed: 1, conditions: [{ type: 'Failed', status: 'True', reason, message }] });
const namespaceOf = (uid: string): Answer => ({
  kind: 'found',
  object: { kind: 'Namespace', metadata: { name: BackupName.namespace, annotations: { 'flotilla.io/upgrade-uid': uid } } },
});

interface Row {
  readonly name: string;
  readonly from: BackupState;
  readonly spoke: Partial<ActionsSpoke>;
  readonly context?: StepContext<BackupState>;
  readonly to: BackupState;
  readonly message?: string;
  readonly at?: number;
  readonly effects?: readonly string[];
}
const rows: Row[] = [
  { name: 'nothing known yet', from: 'PreparingToStart', spoke: {}, to: 'PreparingToStart' },
  {
    name: 'another upgrade backs the spoke up, however long',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(absent) },
    context: { ...late, claimedBy: 'ns/other' },
    to: 'PreparingToStart',
    message: 'waits for ClusterGroupUpgrade ns/other, which is backing up this cluster',
  },
  {
    name: 'the spoke is away',
    from: 'PreparingToStart',
    spoke: { available: false },
    to: 'PreparingToStart',
    message:
      'the cluster is not available; the backup goes on when it is; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run',
  },
  {
    name: 'the namespace of an earlier backup',
    from: 'PreparingToStart',
    spoke: { namespaceView: buildView(namespaceOf('uid-0')) },
    to: 'PreparingToStart',
    effects: ['clear'],
    message: 'removing what an earlier attempt left on the cluster',
  },
  { name: 'no namespace', from: 'PreparingToStart', spoke: { namespaceView: buildView(absent) }, to: 'Starting' },
  {
    name: 'no answer in 20 minutes',
    from: 'PreparingToStart',
    spoke: {},
    context: late,
    to: 'BackupTimeout',
    message: 'timed out: the cluster gave no verdict',
  },
  { name: 'the job runs', from: 'Starting', spoke: { jobView: buildView(found({ active: 1 })) }, to: 'Active' },
  {
    name: 'no pod yet',
    from: 'Starting',
    spoke: { jobView: buildView(found({}), { createdAt: JUST_NOW }) },
    to: 'Starting',
    at: JUST_NOW + 30_000,
    message: 'job backup-agent has no running pod yet',
  },
  {
    name: 'the spoke refuses an object again and again',
    from: 'Starting',
    spoke: {
      actions: new Map([
        ['backup-crb-create', buildAction({ outcome: 'failed', retries: RETRY_BUDGET, refusals: RETRY_BUDGET, message: FORBIDDEN })],
      ]),
    },
    to: 'UnrecoverableError',
    message: `backup-crb-create: ${FORBIDDEN}`,
  },
  { name: 'the job is done', from: 'Active', spoke: { jobView: buildView(found({ succeeded: 1 })) }, to: 'Succeeded' },
  {
    name: 'there was no room for the copy',
    from: 'Active',
    spoke: { jobView: buildView(failed('BackoffLimitExceeded', 'limit')) },
    to: 'UnrecoverableError',
    message: 'limit',
  },
  {
    name: 'the job took longer than 480 s',
    from: 'Active',
    spoke: { jobView: buildView(failed('DeadlineExceeded', 'too long')) },
    to: 'BackupTimeout',
    message: 'timed out: too long',
  },
  {
    name: 'somebody deleted the job',
    from: 'Active',
    spoke: { jobView: buildView(absent) },
    to: 'UnrecoverableError',
    message: 'job backup-agent was deleted from the cluster',
  },
  {
    name: 'the spoke went away',
    from: 'Active',
    spoke: { available: false, jobView: buildView(found({ active: 1 })) },
    to: 'Active',
    message:
      'the cluster is not available; last seen running; see kubectl describe managedcluster spoke-1, and whether the cluster and its agent run',
  },
];

describe('a backup', () => {
  test.each(rows)('$from, $name: $to', ({ from, spoke, to, effects = [], message, at, context: given = context }) => {
    const decided = decide(from, toObservation(job.names, buildSpoke(spoke)), given);
    expect({ ...decided, message: decided.message && saidOf(decided.message) }).toEqual({ state: to, message, effects, at });
  });
});
