import {
  ClusterGroupUpgrade,
  type ClusterGroupUpgradeStatus,
  type ConditionReason,
  fixOf,
  type PrecacheProgress,
  type PrecacheState,
} from '@flotilla/api/ran';
import { judgeGates, type UpgradePlan } from '@flotilla/rollout';
import { openGates } from '@flotilla/rollout/testing';
import { describe, expect, test } from 'vitest';
import type { JudgedSpoke } from '../spokes/jobs/judge.ts';
import { rollUpBackup } from '../spokes/jobs/kinds/backup/report.ts';
import { rollUp } from '../spokes/jobs/status.ts';
import { describeEnd, describePreparation, describeRollout, describeUnreadable } from './status.ts';
import { fitStatus } from './status-budget.ts';
import type { PrecachingReport } from './status-jobs.ts';

const at = new Date('2026-01-01T00:00:00.123Z');
const later = new Date('2026-01-01T00:05:00.456Z');

const upgrade = (spec: Record<string, unknown> = {}, status?: ClusterGroupUpgradeStatus): ClusterGroupUpgrade =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'upgrade', namespace: 'default', uid: 'uid-1' },
    spec: { preCaching: true, enable: false, remediationStrategy: { maxConcurrency: 1 }, ...spec },
    ...(status && { status }),
  });

const noPolicies = {
  forUpgrade: [],
  compliantBefore: [],
  enforced: [],
  missing: [],
  invalid: [],
  unread: [],
  ambiguous: {},
  namespaces: {},
};
const planOf = (clusters: string[], parts: Partial<UpgradePlan> = {}): UpgradePlan => ({
  selection: { clusters },
  computedMaxConcurrency: 1,
  policies: noPolicies,
  validation: { status: 'True', reason: 'ValidationCompleted', message: 'Completed validation' },
  batches: clusters.map((cluster) => [cluster]),
  precaching: { spec: { platformImage: 'image' } },
  precachingClusters: clusters,
  isCompliant: () => false,
  compliant: [],
  stopped: undefined,
  recheckAfterMs: undefined,
  ...parts,
});

function reportOf(states: Readonly<Record<string, PrecacheState>>, parts: Partial<JudgedSpoke<PrecacheState>> = {}): PrecachingReport {
  const clusters = Object.keys(states);
  const spokes = new Map(Object.entries(states).map(([name, state]) => [name, { state, message: undefined, ...parts }]));
  return { rollUp: rollUp(clusters, new Map(Object.entries(states))), clusters, spokes, retries: {} };
}

/** Describes one pass before the start, with this upgrade's gates. */
function describeStatus(
  given: ClusterGroupUpgrade,
  plan: UpgradePlan,
  precaching: PrecachingReport | undefined,
  now: Date,
  talmStrict = true,
) {
  const refusal = judgeGates({
    ...openGates,
    enabled: given.spec?.enable ?? true,
    canaries: given.spec?.remediationStrategy.canaries ?? [],
    planned: plan.batches.flat(),
    precaching: precaching?.rollUp,
  });
  const passed = plan.stopped === undefined ? refusal : undefined;
  return describePreparation({ upgrade: given, plan, precaching, backup: undefined, refusal: passed, talmStrict, now });
}

const lines = (status: ClusterGroupUpgradeStatus) =>
  (status.conditions ?? []).map(({ type, status: is, reason, message }) => `${type} ${is} ${reason}: ${message}`);

const SELECTED = 'ClustersSelected True ClusterSelectionCompleted: All selected clusters are valid';
const VALIDATED = 'Validated True ValidationCompleted: Completed validation';
const SPEC_VALID = 'PrecacheSpecValid True PrecacheSpecIsWellFormed: Precaching spec is valid and consistent';

test('a rollout that starts forgets the pull of a cluster that its backup left out, and says so of nobody else', () => {
  const states = { a: 'Succeeded', b: 'NotStarted', c: 'NotStarted' } as const;
  const backups = new Map([['b', { state: 'UnrecoverableError' as const, message: 'no disk' }]]);
  const clusters = [...backups.keys()];
  const backup = { rollUp: rollUpBackup(clusters, new Map([['b', 'UnrecoverableError']])), clusters, spokes: backups };
  const precaching = reportOf(states, { message: 'waits for a place' });
  const of = { upgrade: upgrade({ enable: true, backup: true }), plan: planOf(['a', 'c']), precaching, backup, talmStrict: false, now: at };
  const started = describePreparation({ ...of, refusal: undefined });
  expect(started.clusters).toEqual([{ name: 'b', state: 'failed' }]);
  expect([Object.keys(started.precaching?.status ?? {}), Object.keys(started.precaching?.messages ?? {})]).toEqual([
    ['a', 'c'],
    ['a', 'c'],
  ]);
});

describe('a pause', () => {
  const paused = (status?: ClusterGroupUpgradeStatus) => {
    const given = upgrade({ enable: true, preCaching: false }, status);
    return { ...given, metadata: { ...given.metadata, annotations: { 'flotilla.io/paused': 'drain' } } };
  };
  const PAUSED = 'Paused True Paused: Paused; remove the annotation flotilla.io/paused to go on';
  const plan = planOf(['a'], { precaching: undefined, precachingClusters: [] });

  test('stands last while it lasts, with the time it began, and then goes', () => {
    const first = describeStatus(paused(), plan, undefined, at, false);
    expect(lines(first).at(-1)).toBe(PAUSED);
    const waiting = planOf([], { precaching: undefined, validation: { status: 'False', reason: 'NothingToDo', message: 'Nothing' } });
    const second = describeStatus(paused(first), waiting, undefined, later, false);
    expect([lines(second).at(-1), second.conditions?.at(-1)?.lastTransitionTime]).toEqual([PAUSED, '2026-01-01T00:00:00Z']);
    const over = describeStatus(upgrade({ enable: true, preCaching: false }, second), plan, undefined, later, false);
    expect(lines(over).filter((line) => line.startsWith('Paused'))).toEqual([]);
  });

  test('is none with --talm-strict', () => {
    expect(lines(describeStatus(paused(), plan, undefined, at, true)).filter((line) => line.startsWith('Paused'))).toEqual([]);
  });
});

describe('conditions (spec/talm 2.3), in order', () => {
  const rows: {
    name: string;
    spec?: Record<string, unknown>;
    plan?: Partial<UpgradePlan>;
    states?: Record<string, PrecacheState>;
    want: string[];
  }[] = [
    {
      name: 'selection refused: nothing else is said',
      plan: { selection: { failure: { reason: 'ClusterNotFound', message: 'Unable to select clusters: why' } }, stopped: 'selection' },
      want: ['ClustersSelected False ClusterNotFound: Unable to select clusters: why'],
    },
    {
      name: 'validation refused',
      plan: {
        validation: { status: 'False', reason: 'NotAllManagedPoliciesExist', message: 'Missing managed policies: [a b] ' },
        stopped: 'validation',
      },
      want: [SELECTED, 'Validated False NotAllManagedPoliciesExist: Missing managed policies: [a b] '],
    },
    {
      name: 'spec refused',
      plan: {
        precaching: { failure: { reason: 'PrecacheSpecIncomplete', message: 'Precaching spec is incomplete: why', transient: false } },
        stopped: 'precacheSpec',
      },
      want: [SELECTED, VALIDATED, 'PrecacheSpecValid False PrecacheSpecIncomplete: Precaching spec is incomplete: why'],
    },
    {
      name: 'in progress',
      states: { a: 'Active', b: 'NotStarted' },
      want: [SELECTED, VALIDATED, SPEC_VALID, 'PrecachingSuceeded False InProgress: Precaching in progress for 2 clusters'],
    },
    {
      name: 'completed, not enabled',
      states: { a: 'Succeeded', b: 'Succeeded' },
      want: [
        SELECTED,
        VALIDATED,
        SPEC_VALID,
        'PrecachingSuceeded True PrecachingCompleted: Precaching is completed for all clusters',
        'Progressing False NotEnabled: Not enabled',
      ],
    },
    {
      name: 'completed, enabled: the rollout goes on from here',
      spec: { enable: true },
      states: { a: 'Succeeded', b: 'Succeeded' },
      want: [SELECTED, VALIDATED, SPEC_VALID, 'PrecachingSuceeded True PrecachingCompleted: Precaching is completed for all clusters'],
    },
    {
      name: 'partly done',
      states: { a: 'Succeeded', b: 'PrecacheTimeout' },
      want: [
        SELECTED,
        VALIDATED,
        SPEC_VALID,
        'PrecachingSuceeded False PartiallyDone: Precaching failed for 1 clusters',
        'Progressing False NotEnabled: Not enabled',
      ],
    },
    {
      name: 'all failed',
      states: { a: 'UnrecoverableError', b: 'PrecacheTimeout' },
      want: [
        SELECTED,
        VALIDATED,
        SPEC_VALID,
        'PrecachingSuceeded False Failed: Precaching failed for all clusters',
        'Progressing False Completed: No clusters available for remediation (Precaching failed)',
        'Succeeded False Failed: No clusters available for remediation (Precaching failed)',
      ],
    },
    {
      name: 'a canary failed',
      spec: { remediationStrategy: { maxConcurrency: 1, canaries: ['b'] } },
      states: { a: 'Succeeded', b: 'UnrecoverableError' },
      want: [
        SELECTED,
        VALIDATED,
        SPEC_VALID,
        'PrecachingSuceeded False PartiallyDone: Precaching failed for 1 clusters',
        'Progressing False Completed: Precaching failed on canary clusters',
        'Succeeded False Failed: Precaching failed on canary clusters',
      ],
    },
    {
      name: 'nothing to pre-cache',
      plan: { precaching: undefined, precachingClusters: [] },
      want: [SELECTED, VALIDATED, 'Progressing False NotEnabled: Not enabled'],
    },
  ];

  test.each(rows)('$name', ({ spec, plan, states, want }) => {
    const status = describeStatus(upgrade(spec), planOf(['a', 'b'], plan), states && reportOf(states), at);
    expect(lines(status)).toEqual(want);
    expect(new Set(status.conditions?.map(({ lastTransitionTime }) => lastTransitionTime))).toEqual(new Set(['2026-01-01T00:00:00Z']));
  });

  test.each(rows)('$name: without --talm-strict each message ends with the fix of its reason', ({ spec, plan, states, want }) => {
    const status = describeStatus(upgrade(spec), planOf(['a', 'b'], plan), states && reportOf(states), at, false);
    const withFix = want.map((line) => {
      const fix = fixOf(line.split(/[ :]/)[2] as ConditionReason);
      return fix === '' ? line : `${line.trimEnd()}; ${fix}`;
    });
    // Which begin the list is what ready.test.ts asks.
    expect(lines(status).filter((line) => !/^(Ready|Stalled) /.test(line))).toEqual(withFix);
  });

  test('the one whose status changes moves to the end, the others keep place and time', () => {
    const running = describeStatus(upgrade(), planOf(['a']), reportOf({ a: 'Active' }), at);
    const broken = {
      precaching: { failure: { reason: 'PrecacheSpecIncomplete' as const, message: 'why', transient: false } },
      stopped: 'precacheSpec' as const,
    };
    const status = describeStatus(upgrade({}, running), planOf(['a'], broken), reportOf({ a: 'Active' }), later);
    expect(status.conditions?.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['ClustersSelected', '2026-01-01T00:00:00Z'],
      ['Validated', '2026-01-01T00:00:00Z'],
      ['PrecachingSuceeded', '2026-01-01T00:00:00Z'],
      ['PrecacheSpecValid', '2026-01-01T00:05:00Z'],
    ]);
  });

  test('a pass that changes nothing gives the very same conditions', () => {
    const once = describeStatus(upgrade(), planOf(['a']), reportOf({ a: 'Active' }), at);
    expect(describeStatus(upgrade({}, once), planOf(['a']), reportOf({ a: 'Active' }), later)).toEqual(once);
  });
});

describe('the rest of the status', () => {
  test('clusters that failed leave the plan and are recorded', () => {
    const status = describeStatus(
      upgrade(),
      planOf(['a', 'b', 'c']),
      reportOf({ a: 'Succeeded', b: 'UnrecoverableError', c: 'PrecacheTimeout' }),
      at,
    );
    expect(status.remediationPlan).toEqual([['a']]);
    expect(status.clusters).toEqual([
      { name: 'b', state: 'failed' },
      { name: 'c', state: 'failed' },
    ]);
  });

  test('a cluster that failed pre-caching is upgraded when pre-caching is switched off, and its condition keeps the last word', () => {
    const failed = reportOf({ a: 'Succeeded', b: 'UnrecoverableError' });
    const before = describeStatus(upgrade(), planOf(['a', 'b']), failed, at);
    expect(before.clusters).toEqual([{ name: 'b', state: 'failed' }]);
    const off = planOf(['a', 'b'], { precaching: undefined, precachingClusters: [] });
    const report = { ...failed, rollUp: rollUp([], new Map()) };
    const after = describeStatus(upgrade({ preCaching: false }, before), off, report, later);
    expect([after.remediationPlan, after.clusters]).toEqual([[['a'], ['b']], undefined]);
    expect(lines(after)).toContain('PrecachingSuceeded False PartiallyDone: Precaching failed for 1 clusters');
    expect(after.precaching?.status).toEqual({ a: 'Succeeded', b: 'UnrecoverableError' });
  });

  test('while a plan is refused, what is recorded stays', () => {
    const report = reportOf({ a: 'Succeeded', b: 'UnrecoverableError' });
    const before = describeStatus(upgrade(), planOf(['a', 'b']), report, at);
    const refused = planOf([], { selection: { failure: { reason: 'ClusterNotFound', message: 'why' } }, stopped: 'selection' });
    expect(describeStatus(upgrade({}, before), refused, undefined, later).clusters).toEqual(before.clusters);
  });

  test('while others are in progress the plan stays as it is', () => {
    const status = describeStatus(upgrade(), planOf(['a', 'b']), reportOf({ a: 'Active', b: 'UnrecoverableError' }), at);
    expect(status.remediationPlan).toEqual([['a'], ['b']]);
    expect(status.clusters).toBeUndefined();
  });

  test('states, messages with both ends within 512 characters, progress and its sum', () => {
    const progress = { imagesDone: 1, imagesTotal: 12, bytesDone: 10, bytesTotal: 200, bytesPerSecond: 5 };
    const { precaching } = describeStatus(
      upgrade(),
      planOf(['a', 'b']),
      reportOf({ a: 'Active', b: 'Active' }, { message: `pull of a failed: ${'and so on '.repeat(80)}401 Unauthorized`, progress }),
      at,
    );
    const cut = expect.stringMatching(/^pull of a failed: .{1,250}… .* 401 Unauthorized$/);
    expect(precaching?.messages?.a?.length).toBeLessThanOrEqual(512);
    expect(precaching).toEqual({
      spec: { platformImage: 'image' },
      status: { a: 'Active', b: 'Active' },
      messages: { a: cut, b: cut },
      progress: { a: progress, b: progress },
      summary: { imagesDone: 2, imagesTotal: 24, bytesDone: 20, bytesTotal: 400 },
    });
  });

  test('the same figures keep the time at which they were reported first, and a status from before that time has none', () => {
    const figures = { imagesDone: 1, imagesTotal: 12, bytesDone: 10, bytesTotal: 200, bytesPerSecond: 5 };
    const next = (status: ClusterGroupUpgradeStatus | undefined, progress: PrecacheProgress) =>
      describeStatus(upgrade({}, status), planOf(['a']), reportOf({ a: 'Active' }, { progress }), at);
    const first = next(undefined, { ...figures, at: '2026-01-01T00:00:00Z' });
    expect(first.precaching?.progress?.a?.at).toBe('2026-01-01T00:00:00Z');
    expect(next(first, { ...figures, at: '2026-01-01T00:00:09Z' })).toEqual(first);
    expect(next(first, { ...figures, bytesDone: 20, at: '2026-01-01T00:00:09Z' }).precaching?.progress?.a?.at).toBe('2026-01-01T00:00:09Z');
    const before = next(undefined, figures);
    expect(next(before, { ...figures, at: '2026-01-01T00:00:09Z' })).toEqual(before);
  });

  test('of a failure all that its puller has reported', () => {
    const why = `timed out: pull of a failed: ${'and so on '.repeat(98)}401 Unauthorized`;
    const report = reportOf({ a: 'UnrecoverableError', b: 'Active' }, { message: why });
    const { precaching } = describeStatus(upgrade(), planOf(['a', 'b']), report, at);
    expect(precaching?.messages?.a).toBe(why);
    expect(precaching?.messages?.b?.length).toBeLessThanOrEqual(512);
  });

  const fiveThousand = Array.from({ length: 5000 }, (_, i) => `edge-site-${String(i).padStart(5, '0')}`);
  const progress = {
    imagesDone: 199,
    imagesTotal: 200,
    bytesDone: 19_999_999_999,
    bytesTotal: 20_000_000_000,
    bytesPerSecond: 99_999_999,
    at: '2026-01-01T00:00:00Z',
  };
  test.each([
    { name: 'that all pull', state: 'Active' as const, parts: { progress } },
    {
      name: 'that all pull and are all away',
      state: 'Active' as const,
      parts: { progress, message: 'the cluster is not available; last seen pulling' },
    },
    {
      name: 'that all failed with a long reason',
      state: 'UnrecoverableError' as const,
      parts: { message: 'registry.example refused the image: '.padEnd(1024, 'x') },
    },
  ])('5,000 spokes $name: the object stays below 512 KiB', ({ name, state, parts }) => {
    const report = reportOf(Object.fromEntries(fiveThousand.map((cluster) => [cluster, state])), parts);
    const status = fitStatus(
      describeStatus(upgrade({ clusters: fiveThousand }), planOf(fiveThousand, { batches: [fiveThousand] }), report, at),
    );
    const kib = JSON.stringify({ ...upgrade(), status }).length / 1024;
    process.stdout.write(`5,000 spokes ${name}: ${kib.toFixed(0)} KiB\n`);
    expect(kib).toBeLessThan(512);
  });
});

describe('after the start', () => {
  const said = (now: Date) => ({ now, talmStrict: true });
  const inProgress = { status: 'True', reason: 'InProgress', message: 'Remediating non-compliant policies' } as const;
  const done = { status: 'False', reason: 'Completed', message: 'done' } as const;
  const prepared = describeStatus(
    upgrade({ preCaching: false }),
    planOf(['a'], { precaching: undefined, precachingClusters: [] }),
    undefined,
    at,
  );
  const pass = (parts: object) => ({
    status: { startedAt: 's' },
    clusters: [],
    messages: {},
    fallenSince: new Map(),
    progressing: inProgress,
    succeeded: undefined,
    wakeAt: undefined,
    ...parts,
  });

  test('Progressing is set while it runs, and the verdict comes last', () => {
    const running = describeRollout(prepared, pass({}), said(at));
    expect(lines(running)).toEqual([SELECTED, VALIDATED, 'Progressing True InProgress: Remediating non-compliant policies']);
    const clusters = [{ name: 'a', state: 'complete' }];
    const ended = describeRollout(running, pass({ clusters, progressing: done, succeeded: { ...done, status: 'True' } }), said(later));
    expect(lines(ended).slice(-2)).toEqual(['Progressing False Completed: done', 'Succeeded True Completed: done']);
    expect([running.clusters, ended.clusters]).toEqual([undefined, clusters]);
  });

  test('a pass that changes nothing gives the very same status', () => {
    const running = describeRollout(prepared, pass({}), said(at));
    expect(describeRollout(running, pass({}), said(later))).toEqual(running);
  });

  test.each([
    { name: 'refused', given: upgrade(), type: 'Validated' },
    { name: 'taken away', given: { ...upgrade(), spec: undefined }, type: 'ClustersSelected' },
  ])('a spec that was $name for a while and is put right leaves no refusal', ({ given, type }) => {
    const running = describeRollout(prepared, pass({}), said(at));
    const issue = { path: ['remediationStrategy', 'timeout'], message: 'is -5' };
    const unread = describeUnreadable({ ...given, status: running }, [issue], said(at));
    expect(unread.conditions?.some((each) => each.status === 'False' && each.type === type)).toBe(true);
    expect(lines(describeRollout(unread, pass({}), said(later))).toSorted()).toEqual(lines(running).toSorted());
  });

  test('at the end the batch is forgotten, and the names with the objects', () => {
    const status = {
      ...prepared,
      safeResourceNames: { 'ns/a': 'a-1' },
      placements: ['a-1'],
      placementBindings: ['a-1'],
      status: {
        startedAt: '2026-01-01T00:00:00Z',
        currentBatch: 2,
        currentBatchStartedAt: '2026-01-01T00:00:00Z',
        currentBatchRemediationProgress: { a: {} },
      },
    };
    const times = { startedAt: '2026-01-01T00:00:00Z', completedAt: '2026-01-01T00:05:00Z' };
    const ended = describeEnd(upgrade({}, status), later);
    expect([ended.status, ended.safeResourceNames, ended.placements, ended.placementBindings]).toEqual([
      times,
      undefined,
      undefined,
      undefined,
    ]);
    const kept = describeEnd(upgrade({ actions: { afterCompletion: { deleteObjects: false } } }, status), later);
    expect([kept.status, kept.safeResourceNames, kept.placements]).toEqual([times, { 'ns/a': 'a-1' }, ['a-1']]);
  });
});
