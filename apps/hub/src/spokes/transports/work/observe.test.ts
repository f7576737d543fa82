import { type PrecacheState, PullerReport } from '@flotilla/api/ran';
import { saidOf } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { away, lastSeen, silent } from '../../../../testing/interpret-case.ts';
import { buildPrecacheSettings, clusterObject, UPGRADE } from '../../../../testing/observation-builders.ts';
import { CREATED_AT, OURS, there, type Values, type WorkCase, workOf } from '../../../../testing/work-builders.ts';
import type { StepContext } from '../../jobs/kind.ts';
import { createPrecacheJob, precacheNames } from '../../jobs/kinds/precache/job.ts';
import { decide } from '../../jobs/plan.ts';
import { UNANSWERED_MS } from '../port/ending-work.ts';
import { RETRY_BUDGET } from '../port/port.ts';
import { frozenMark } from './manifest-work.ts';
import { type CachedWorks, observeWork } from './observe.ts';

const SECOND = 1000;
const now = CREATED_AT + 5 * SECOND;
const context: StepContext<PrecacheState> = {
  job: createPrecacheJob(buildPrecacheSettings()),
  upgradeUid: UPGRADE.uid,
  cluster: 'spoke-1',
  now,
  deadlineAt: CREATED_AT + 3_600_000,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: 'd1',
};
const begun: WorkCase = { namespace: there(OURS) };
const job = (values: Values = {}): WorkCase => ({ ...begun, job: there({ attempt: 'a1.0', ...values }) });
const lost: WorkCase = { ...begun, job: { available: 'False', availableAt: 3, values: { attempt: 'a1.0', verdict: 'Complete' } } };
const refused = (text: string): WorkCase => ({
  ...begun,
  job: { applied: 'False', appliedMessage: `Failed to apply manifest: ${text}`, available: 'False' },
});
const DENIED = 'admission webhook "policy.test" denied the request: no';
const report = (parts: Partial<PullerReport>): Values => ({
  progress: JSON.stringify(
    PullerReport.parse({
      phase: 'pulling',
      imagesDone: 1,
      imagesTotal: 2,
      bytesDone: 3,
      bytesTotal: 4,
      bytesPerSecond: 5,
      at: '2026-01-01T00:00:00Z',
      ...parts,
    }),
  ),
});

interface Row {
  readonly name: string;
  readonly from: PrecacheState;
  /** Absent: the spoke has no work. */
  readonly work?: WorkCase;
  readonly other?: WorkCase;
  readonly away?: true;
  /** Seconds after the creation of the work; default 5. */
  readonly seconds?: number;
  readonly digest?: string;
  readonly to: PrecacheState;
  readonly message?: string;
  readonly effects?: readonly string[];
  readonly at?: number;
}
const cleaning = { effects: ['clear'], message: 'removing what an earlier attempt left on the cluster' } as const;

const rows: Row[] = [
  { name: 'no work yet', from: 'PreparingToStart', to: 'PreparingToStart' },
  { name: 'no work, and the cluster is away', from: 'PreparingToStart', away: true, to: 'PreparingToStart', message: away },
  {
    name: 'a work that no agent has touched',
    from: 'PreparingToStart',
    work: {},
    to: 'PreparingToStart',
    at: CREATED_AT + 30 * SECOND,
  },
  {
    name: 'a work that no agent has touched for a minute',
    from: 'PreparingToStart',
    work: {},
    seconds: UNANSWERED_MS / SECOND,
    to: 'PreparingToStart',
    message: silent(60),
    at: CREATED_AT + 120 * SECOND,
  },
  {
    name: 'a work that no agent of an absent cluster has touched',
    from: 'PreparingToStart',
    work: {},
    seconds: 600,
    away: true,
    to: 'PreparingToStart',
    message: away,
  },
  { name: 'applied, and not read yet', from: 'PreparingToStart', work: { namespace: {} }, to: 'PreparingToStart' },
  {
    name: 'a namespace that is not there because it was refused',
    from: 'PreparingToStart',
    work: { namespace: { applied: 'False', appliedMessage: 'Failed to apply manifest: no', available: 'False' } },
    to: 'Starting',
    message: 'Namespace openshift-talo-pre-cache: no',
  },
  { name: 'a namespace that this attempt created', from: 'PreparingToStart', work: begun, to: 'Starting' },
  { name: "the reference's namespace", from: 'PreparingToStart', work: { namespace: there({}) }, to: 'PreparingToStart', ...cleaning },
  {
    name: 'the namespace of another upgrade',
    from: 'PreparingToStart',
    work: { namespace: there({ attempt: 'b1' }) },
    to: 'PreparingToStart',
    ...cleaning,
  },
  {
    name: 'the namespace of an earlier attempt of the same upgrade and spec',
    from: 'PreparingToStart',
    work: { ...job({ verdict: 'Complete' }), namespace: there({ attempt: 'a0' }) },
    to: 'PreparingToStart',
    ...cleaning,
  },
  {
    name: 'a namespace that is being deleted',
    from: 'PreparingToStart',
    work: { namespace: there({ ...OURS, leaving: '2026-01-01T00:00:01Z' }) },
    to: 'PreparingToStart',
    ...cleaning,
  },
  {
    name: 'a work of ours that is not gone yet',
    from: 'PreparingToStart',
    work: { ...begun, deleting: true },
    to: 'PreparingToStart',
    ...cleaning,
  },
  {
    name: 'a work of ours that has failed before',
    from: 'PreparingToStart',
    work: { ...job({ verdict: 'Failed' }), annotations: frozenMark },
    to: 'PreparingToStart',
    ...cleaning,
  },
  { name: "another upgrade's work", from: 'PreparingToStart', other: job({ verdict: 'Complete' }), to: 'PreparingToStart', ...cleaning },
  {
    name: 'a namespace that cannot be read',
    from: 'PreparingToStart',
    work: { namespace: { available: 'Unknown' } },
    to: 'PreparingToStart',
    message:
      'cannot see namespace on the cluster: of availability; see whether the API server of spoke-1 answers its agent, and whether the agent may read what is named',
  },
  {
    name: 'values that cannot be read',
    from: 'PreparingToStart',
    work: { namespace: { available: 'True', synced: 'False', values: OURS } },
    to: 'PreparingToStart',
    message:
      'cannot see namespace on the cluster: of feedback; see whether the API server of spoke-1 answers its agent, and whether the agent may read what is named',
  },
  { name: 'no job yet', from: 'Starting', work: begun, to: 'Starting' },
  {
    name: 'a job without a pod',
    from: 'Starting',
    work: job(),
    to: 'Starting',
    message: 'job pre-cache has no running pod yet',
    at: CREATED_AT + 30_000,
  },
  { name: 'a job with a pod', from: 'Starting', work: job({ active: 1, ready: 1 }), to: 'Active' },
  { name: 'a job that succeeded', from: 'Starting', work: job({ verdict: 'Complete' }), to: 'Succeeded' },
  { name: 'a job whose pods have all succeeded', from: 'Active', work: job({ ready: 0, verdict: 'SuccessCriteriaMet' }), to: 'Succeeded' },
  { name: 'a job that succeeded while nobody looked', from: 'PreparingToStart', work: job({ verdict: 'Complete' }), to: 'Succeeded' },
  {
    name: 'a job of an earlier attempt in our namespace',
    from: 'Starting',
    work: { ...begun, job: there({ attempt: 'a0.0', verdict: 'Complete' }) },
    to: 'PreparingToStart',
    message: 'the spec has changed: starting over',
    effects: ['startOver'],
  },
  {
    name: 'a work of another spec',
    from: 'Active',
    work: job({ verdict: 'Complete' }),
    digest: 'd2',
    to: 'PreparingToStart',
    message: 'the spec has changed: starting over',
    effects: ['startOver'],
  },
  {
    name: 'a job that failed',
    from: 'Active',
    work: job({ verdict: 'Failed', reason: 'BackoffLimitExceeded', message: 'limit' }),
    to: 'UnrecoverableError',
    message: 'limit',
  },
  {
    name: 'a job that is bound to fail',
    from: 'Active',
    work: job({ ready: 0, verdict: 'FailureTarget', reason: 'BackoffLimitExceeded', message: 'limit' }),
    to: 'UnrecoverableError',
    message: 'limit',
  },
  {
    name: 'a job that failed, and a puller that says why',
    from: 'Active',
    work: job({ verdict: 'Failed', reason: 'BackoffLimitExceeded', message: 'limit', ...report({ message: 'images are missing' }) }),
    to: 'UnrecoverableError',
    message: 'images are missing',
  },
  { name: 'a job that was suspended', from: 'Active', work: job({ active: 1, ready: 1, verdict: 'Suspended', reason: 'x' }), to: 'Active' },
  {
    name: 'a job that took too long',
    from: 'Active',
    work: job({ verdict: 'Failed', reason: 'DeadlineExceeded', message: 'too long' }),
    to: 'PrecacheTimeout',
    message: 'timed out: too long',
  },
  {
    name: 'a job that succeeded and is gone: what was read of it is none',
    from: 'Active',
    work: lost,
    to: 'UnrecoverableError',
    message: 'job pre-cache was deleted from the cluster',
  },
  { name: 'a job that is gone', from: 'Starting', work: lost, to: 'Starting' },
  {
    name: 'a namespace that went in the second of its apply, after it was read',
    from: 'PreparingToStart',
    work: { namespace: { available: 'False', synced: 'False' } },
    to: 'Starting',
  },
  {
    name: 'a namespace that was not there before it was applied',
    from: 'PreparingToStart',
    work: { namespace: { available: 'False' } },
    to: 'PreparingToStart',
  },
  {
    name: 'a job that is gone again and again',
    from: 'Starting',
    work: { ...lost, annotations: { 'flotilla.io/refusals': String(RETRY_BUDGET) } },
    to: 'UnrecoverableError',
    message: 'job pre-cache disappears from the cluster as soon as it is created',
  },
  {
    name: 'a job that was not there before it was applied',
    from: 'Starting',
    work: { ...begun, job: { available: 'False' } },
    to: 'Starting',
  },
  { name: 'a job that is gone, as of an older spec of the work', from: 'Starting', work: { ...lost, generation: 2 }, to: 'Starting' },
  {
    name: 'a refusal that may pass',
    from: 'Starting',
    work: refused('connection refused'),
    seconds: 600,
    to: 'Starting',
    message: 'Job pre-cache: connection refused',
  },
  {
    name: 'a refusal for less than five tries',
    from: 'Starting',
    work: refused(DENIED),
    seconds: 31,
    to: 'Starting',
    message: `Job pre-cache: ${DENIED}`,
    at: CREATED_AT + 32 * SECOND,
  },
  {
    name: 'a refusal for as long as five tries',
    from: 'Starting',
    work: refused(DENIED),
    seconds: 32,
    to: 'UnrecoverableError',
    message: `Job pre-cache: ${DENIED}`,
  },
  {
    name: 'a namespace that is being terminated',
    from: 'Starting',
    work: refused('serviceaccounts "a" is forbidden: unable to create new content because it is being terminated'),
    seconds: 600,
    to: 'Starting',
    message: 'Job pre-cache: serviceaccounts "a" is forbidden: unable to create new content because it is being terminated',
  },
  {
    name: 'what the job does without was refused',
    from: 'Active',
    work: { ...job({ active: 1, ready: 1 }), binding: { applied: 'False', appliedMessage: DENIED } },
    seconds: 600,
    to: 'Active',
  },
  {
    name: 'a job that runs on a cluster that is away',
    from: 'Active',
    work: job({ active: 1, ready: 1 }),
    away: true,
    to: 'Active',
    message: lastSeen,
  },
];

const observe = ({ work, other, away: isAway, seconds = 5 }: Omit<Row, 'name' | 'from' | 'to'>, parts: Partial<CachedWorks> = {}) =>
  observeWork(precacheNames, {
    cluster: clusterObject(!isAway),
    work: work && workOf(work),
    other: other && workOf(other),
    isClearing: false,
    now: CREATED_AT + seconds * SECOND,
    ...parts,
  });

describe('events from a work', () => {
  test.each(rows)('$from, $name: $to', (row) => {
    const { from, to, message, effects = [], at, seconds = 5, digest = 'd1' } = row;
    const given = { ...context, now: CREATED_AT + seconds * SECOND, digest };
    const decided = decide(from, observe(row), given);
    expect({ ...decided, message: decided.message && saidOf(decided.message) }).toEqual({ state: to, message, effects, at });
  });

  test('progress of the puller counts only in a namespace of ours', () => {
    const progress = report({ imagesDone: 1 });
    expect(observe({ work: job({ active: 1, ...progress }) }).report).toMatchObject({ imagesDone: 1, bytesPerSecond: 5 });
    expect(observe({ work: { ...job(progress), namespace: there({}) } }).report).toBeUndefined();
    expect(observe({ work: { ...begun, job: there({ attempt: 'other.0', ...progress }) } }).report).toBeUndefined();
    expect(observe({ work: job({ progress: 'no JSON' }) }).report).toBeUndefined();
  });

  test.each([
    { name: 'none', work: undefined, held: false, since: undefined },
    { name: 'one', work: begun, held: true, since: CREATED_AT },
    { name: 'one that is not gone yet', work: { ...begun, deleting: true as const }, held: true, since: undefined },
    { name: 'one that is kept after a failure', work: { ...begun, annotations: frozenMark }, held: false, since: undefined },
  ])('what holds the spoke: $name', ({ work, held, since }) =>
    expect(observe(work ? { work } : {})).toMatchObject({ hasObjects: held, since }),
  );

  test('a long refusal of a manifest keeps its end, where whoever refused says why', () => {
    const end = 'denied by policy images-of-the-day: sign the image';
    const { failure } = observe({ work: refused(`admission webhook refused ${'the field spec.containers '.repeat(200)}${end}`) });
    expect(failure?.message).toMatch(
      /^Job pre-cache: admission webhook refused the field .*… .*denied by policy images-of-the-day: sign the image$/,
    );
    expect(failure?.message.length).toBeLessThan(1_100);
  });

  test('pullers of other nodes that the agent may not create fail the job once the refusal has lasted', () => {
    const text = 'daemonsets.apps is forbidden: no';
    const nodes = { applied: 'False', appliedMessage: `Failed to apply manifest: ${text}`, available: 'False' } as const;
    const binding = { applied: 'False', appliedMessage: 'Failed to apply manifest: roles is forbidden: no', available: 'False' } as const;
    const found = observe({ work: { ...job({ active: 1, ready: 1 }), binding, nodes } });
    expect(found.nodesFailure).toMatchObject({ message: `DaemonSet pre-cache-nodes: ${text}`, finalAt: expect.any(Number) });
    const at = (now: number) => decide('Active', found, { ...context, now, failsWithoutNodes: true });
    const finalAt = found.nodesFailure?.finalAt ?? 0;
    expect(at(finalAt - 1)).toMatchObject({ state: 'Active', at: finalAt });
    expect(at(finalAt)).toMatchObject({ state: 'UnrecoverableError', message: expect.stringContaining('cannot be filled: no; let') });
    expect(observe({ work: { ...job({ active: 1, ready: 1 }), binding } }).nodesFailure).toBeUndefined();
  });

  test('a spoke whose clock is an hour ahead is not waited for, one that is behind not judged at once', () => {
    const of = (appliedAt: number) =>
      observe({ work: { ...begun, job: { applied: 'False', appliedMessage: DENIED, appliedAt, available: 'False' } } }).failure?.finalAt;
    expect(of(3600)).toBe(CREATED_AT + 31 * SECOND);
    expect(of(-3600)).toBe(CREATED_AT + 31 * SECOND);
  });
});
