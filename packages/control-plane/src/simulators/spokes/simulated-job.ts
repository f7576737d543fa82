import { Annotation, conditionTime, isJsonObject } from '@flotilla/api';
import { type NodesProgress, type PullerReport, SpokeName } from '@flotilla/api/ran';
import type { ServedResource } from '@flotilla/runtime';
import { z } from 'zod';
import type { TimerHeap } from '../timer-heap.ts';
import type { JobShape, SpokeFaults } from './faults.ts';
import type { SpokeStore, StoredObject } from './spoke-store.ts';

type JobOutcome = 'succeeded' | 'failed' | 'deadline';

/** Events of Jobs, told as they happen. */
export type JobEvent = 'job-created' | 'job-started' | `job-${JobOutcome}`;

interface JobSurroundings {
  readonly store: SpokeStore;
  readonly served: ServedResource;
  readonly timers: TimerHeap;
  /** The spoke's own clock. */
  readonly now: () => number;
  readonly random: () => number;
  readonly shape: JobShape;
  readonly faults: SpokeFaults;
  /** True while the spoke's Jobs go on past their end. */
  readonly isHeld: () => boolean;
  /** True for one of the Jobs that fail. */
  readonly fails: boolean;
  readonly onEvent: (event: JobEvent, job: StoredObject) => void;
  /** Called when the pod of a Job has succeeded: its effects are there before the verdict is. */
  readonly onPodDone: () => void;
}

interface JobPlan {
  /** Milliseconds after creation; undefined: it never does. */
  readonly startsAfterMs: number | undefined;
  readonly endsAfterMs: number | undefined;
  readonly outcome: JobOutcome;
}

/** Plans the start and the end of a Job: its deadline when that comes first. */
export function planJob(job: StoredObject, shape: JobShape, faults: SpokeFaults, draw: { random: number; fails: boolean }): JobPlan {
  const deadlineMs = deadlineSecondsOf(job, faults) * 1000;
  const startupMs = shape.startupMs ?? 1000;
  const runMs = shape.seconds * 1000 * (1 + shape.jitter * (2 * draw.random - 1));
  const wouldEnd = faults.jobNeverStarts || faults.deadlineJobSeconds !== undefined ? Number.POSITIVE_INFINITY : startupMs + runMs;
  const endsAfterMs = Math.min(wouldEnd, deadlineMs);
  return {
    startsAfterMs: faults.jobNeverStarts || startupMs >= deadlineMs ? undefined : startupMs,
    endsAfterMs: Number.isFinite(endsAfterMs) ? endsAfterMs : undefined,
    outcome: wouldEnd > deadlineMs ? 'deadline' : draw.fails ? 'failed' : 'succeeded',
  };
}

function deadlineSecondsOf(job: StoredObject, faults: SpokeFaults): number {
  const own =
    isJsonObject(job.spec) && typeof job.spec.activeDeadlineSeconds === 'number'
      ? job.spec.activeDeadlineSeconds
      : Number.POSITIVE_INFINITY;
  return Math.min(own, faults.deadlineJobSeconds ?? Number.POSITIVE_INFINITY);
}

/** A held Job ends at most so long after it is let go. */
const HELD_RECHECK_MS = 100;

/** Runs a Job that was just created: empty status, active, progress, verdict. A Job that is deleted meanwhile changes nothing more. */
export function runJob(job: StoredObject, around: JobSurroundings): void {
  const { store, served, timers, onEvent } = around;
  const faults = hasAccount(job, store) ? around.faults : { ...around.faults, jobNeverStarts: true };
  const plan = planJob(job, around.shape, faults, { random: around.random(), fails: around.fails });
  onEvent('job-created', job);
  store.setStatus(served, job.metadata, {});
  const startTime = conditionTime(around.now());
  let hasEnded = false;
  const runMs = (plan.endsAfterMs ?? Number.POSITIVE_INFINITY) - (plan.startsAfterMs ?? 0);
  if (plan.startsAfterMs !== undefined) {
    timers.after(plan.startsAfterMs, () => {
      if (!store.setStatus(served, job.metadata, { active: 1, ready: 1, startTime, terminating: 0, uncountedTerminatedPods: {} })) return;
      onEvent('job-started', job);
      publishProgress(job, around, { runMs, outcome: plan.outcome, hasEnded: () => hasEnded });
    });
  }
  if (plan.endsAfterMs === undefined) return;
  const end = (): void => {
    const at = conditionTime(around.now());
    if (around.isHeld()) return void timers.after(HELD_RECHECK_MS, end);
    hasEnded = true;
    if (plan.startsAfterMs !== undefined) writeReport(job, around, reportAt(around, runMs, runMs, plan.outcome, around.now() - runMs));
    if (!store.setStatus(served, job.metadata, endingStatus(plan.outcome, startTime, at))) return;
    // From here on a reader knows the outcome.
    onEvent(`job-${plan.outcome}`, job);
    if (plan.outcome === 'succeeded') around.onPodDone();
    timers.after(ENDING_MS, () => store.setStatus(served, job.metadata, endStatus(plan.outcome, startTime, at)));
  };
  timers.after(Math.max(0, plan.endsAfterMs - ENDING_MS), end);
}

/** From a Job's pods having ended to its verdict: the controller counts them first, which is a change of the status of its own. */
const ENDING_MS = 50;

const VERDICTS: Record<JobOutcome, { types: readonly string[]; reason: string; message: string }> = {
  succeeded: {
    types: ['SuccessCriteriaMet', 'Complete'],
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  },
  failed: { types: ['FailureTarget', 'Failed'], reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' },
  deadline: { types: ['FailureTarget', 'Failed'], reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' },
};

function endingStatus(outcome: JobOutcome, startTime: string, at: string): Record<string, unknown> {
  const [type] = VERDICTS[outcome].types;
  const pods = outcome === 'succeeded' ? { succeeded: ['0'] } : { failed: ['0'] };
  const { conditions } = endStatus(outcome, startTime, at);
  return {
    conditions: conditions.filter((condition) => condition.type === type),
    ready: 0,
    startTime,
    terminating: 0,
    uncountedTerminatedPods: pods,
  };
}

function endStatus(outcome: JobOutcome, startTime: string, at: string) {
  const { types, reason, message } = VERDICTS[outcome];
  const conditions = types.map((type) => ({ type, status: 'True', reason, message, lastProbeTime: at, lastTransitionTime: at }));
  const counts = outcome === 'succeeded' ? { succeeded: 1, completionTime: at } : { failed: 1 };
  return { conditions, ...counts, ready: 0, startTime, terminating: 0, uncountedTerminatedPods: {} };
}

const ALMOST = 0.99;

const PullerJob = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string().optional(),
        containers: z.array(z.object({ env: z.array(z.object({ name: z.string(), value: z.string().optional() })).optional() })),
      }),
    }),
  }),
});

/** The puller of a Job as its variables have it: what it does, and for which upgrade it pins what is there. */
export function pullerOf(job: StoredObject): { readonly mode: string; readonly pinFor: string | undefined } {
  const env = PullerJob.safeParse(job).data?.spec.template.spec.containers.flatMap((container) => container.env ?? []) ?? [];
  const variable = (wanted: string): string | undefined => env.find(({ name }) => name === wanted)?.value;
  return { mode: variable('MODE') ?? 'pull', pinFor: variable('PIN_FOR') };
}

/** A server admits no pod whose account is not there. */
function hasAccount(job: StoredObject, store: SpokeStore): boolean {
  const account = PullerJob.safeParse(job).data?.spec.template.spec.serviceAccountName;
  const served = store.kinds.find(({ kind }) => kind === 'ServiceAccount');
  return account === undefined || !served || store.read(served, job.metadata.namespace, account) !== undefined;
}

/** Milliseconds between two reports: as often as the Job asks for, and no oftener than its shape has it. */
function reportMs(job: StoredObject, { progressMs = 5000 }: JobShape): number {
  const env = PullerJob.safeParse(job).data?.spec.template.spec.containers.flatMap((container) => container.env ?? []) ?? [];
  const asked = Number(env.find(({ name }) => name === 'PROGRESS_SECONDS')?.value ?? 0) * 1000;
  return Math.max(progressMs, asked);
}

/** Has Job `pre-cache` say how far its puller is, as long as that runs. */
function publishProgress(
  job: StoredObject,
  around: JobSurroundings,
  { runMs, outcome, hasEnded }: { readonly runMs: number; readonly outcome: JobOutcome; readonly hasEnded: () => boolean },
): void {
  const startedAt = around.now();
  const stepMs = reportMs(job, around.shape);
  const next = (): void => {
    const elapsed = around.now() - startedAt;
    // The report at the end stays, so no later one replaces it.
    if (hasEnded() || elapsed >= runMs || !writeReport(job, around, reportAt(around, elapsed, runMs, outcome, startedAt))) return;
    around.timers.after(stepMs, next);
  };
  next();
}

/** False when the Job is another one by now, or none. */
function writeReport({ metadata }: StoredObject, { store, served }: JobSurroundings, report: PullerReport): boolean {
  const { namespace, name, uid } = metadata;
  if (name !== SpokeName.job || store.read(served, namespace, name)?.metadata.uid !== uid) return false;
  store.patch(served, namespace, name, { metadata: { annotations: { [Annotation.progress]: JSON.stringify(report) } } });
  return true;
}

function reportAt(around: JobSurroundings, elapsed: number, runMs: number, outcome: JobOutcome, startedAt: number): PullerReport {
  const { images = 12, bytes = 200_000_000, seconds, nodes = 1 } = around.shape;
  const { nodeAway = false, lost = false } = around.faults;
  const ended = elapsed >= runMs;
  const whole = ended && outcome === 'succeeded';
  const part = whole ? 1 : Math.min(ALMOST, elapsed / (Number.isFinite(runMs) && outcome === 'succeeded' ? runMs : seconds * 1000));
  return {
    phase: !ended ? 'pulling' : whole ? 'done' : 'failed',
    imagesDone: Math.floor(images * part),
    imagesTotal: images,
    bytesDone: Math.floor(bytes * part),
    bytesTotal: bytes,
    bytesPerSecond: ended || elapsed === 0 ? 0 : Math.floor((bytes * part * 1000) / elapsed),
    ...(nodes > 1 && { nodes: nodesAt(nodes, { ended, whole, part, bytes }) }),
    failures: ended && !whole ? [{ image: 'registry.example/component@sha256:0', error: 'simulated failure' }] : [],
    ...(ended && !whole ? { message: 'images are missing' } : {}),
    ...(ended && nodeAway && !lost && absence),
    at: conditionTime(startedAt + elapsed),
  };
}

/** End of a Job of three nodes of which one stayed away. */
const absence: Pick<PullerReport, 'nodes' | 'failures' | 'message'> = {
  nodes: { total: 3, done: 2, failed: 0, absent: 1, problems: [{ node: 'node-3', message: 'no puller has come from it for 600 s' }] },
  failures: [],
  message: '1 of 3 nodes are not proven: node-3: no puller has come from it for 600 s',
};

/** Sums the nodes of a spoke, all of which are as far. */
function nodesAt(
  total: number,
  at: { readonly ended: boolean; readonly whole: boolean; readonly part: number; readonly bytes: number },
): NodesProgress {
  const { ended, whole, part, bytes } = at;
  const counts = { total, done: whole ? total : 0, failed: ended && !whole ? total : 0, absent: 0 };
  return ended
    ? counts
    : { ...counts, slowest: { node: 'node-1', bytesDone: Math.floor((bytes * part) / total), bytesTotal: Math.floor(bytes / total) } };
}
