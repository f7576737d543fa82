import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { openGates } from '../../testing/gate-builders.ts';
import { readWait, waitMessage } from '../waits/wait.ts';
import { judgeBlocking } from './blocking.ts';
import { type GateInput, judgeBatchGates, judgeGates, remainingClusters } from './gates.ts';

const shut: GateInput = {
  ...openGates,
  enabled: false,
  window: { kind: 'closed', message: 'Waiting for the window', opensAt: 7 },
  blocking: { missing: ['x', 'y'], incomplete: ['z'], stalled: [], eligible: undefined },
  wantsBackup: true,
};
const failedOn = (...failed: string[]) => ({ finished: true, failed });

describe('the first gate that refuses is the one that is told', () => {
  test.each<{ name: string; input: GateInput; want: string | undefined }>([
    {
      name: 'pre-caching says how it is by its own condition',
      input: { ...shut, precaching: { finished: false, failed: [] } },
      want: 'precaching',
    },
    { name: 'then enable', input: { ...shut, precaching: failedOn('a') }, want: 'enable False NotEnabled: Not enabled' },
    {
      name: 'then the window',
      input: { ...shut, enabled: true },
      want: 'window False WaitingForWindow: Waiting for the window; move or remove the annotations to go on',
    },
    {
      name: 'then blocking upgrades that are missing',
      input: { ...shut, enabled: true, window: openGates.window },
      want: 'blocking False MissingBlockingCR: Missing blocking CRs: [x y]',
    },
    {
      name: 'then those that are not completed',
      input: { ...openGates, wantsBackup: true, blocking: { missing: [], incomplete: ['z', 'y'], stalled: [], eligible: undefined } },
      want: 'blocking False IncompleteBlockingCR: Blocking CRs that are not completed: [z y]',
    },
    {
      name: 'then the backup',
      input: { ...openGates, wantsBackup: true, backup: { finished: false, failed: ['a'] } },
      want: 'backup False NotStarted: Cluster backup is in progress',
    },
    { name: 'and then none', input: { ...openGates, wantsBackup: true, precaching: failedOn('a'), backup: failedOn() }, want: undefined },
  ])('$name', ({ input, want }) => {
    const refusal = judgeGates(input);
    const said = refusal?.progressing;
    expect(refusal && [refusal.gate, ...(said ? [`${said.status} ${said.reason}: ${said.message}`] : [])].join(' ')).toBe(want);
  });

  test('a misspelt annotation may be a window: it goes before the window, and holds each batch too', () => {
    const message = 'flotilla.io/windowstart is not known; did you mean flotilla.io/window-start?';
    const annotationProblem = { reason: 'UnknownAnnotation', message } as const;
    const told = {
      gate: 'annotations',
      progressing: { status: 'False', reason: 'UnknownAnnotation', message },
      stall: { reason: 'UnknownAnnotation', message },
    };
    expect(judgeGates({ ...shut, enabled: true, annotationProblem })).toMatchObject(told);
    expect(judgeBatchGates({ ...openGates, annotationProblem })).toMatchObject({
      ...told,
      progressing: { ...told.progressing, status: 'True' },
    });
  });

  test('a pause goes before the window, and holds each batch too', () => {
    const told = { reason: 'Paused', message: 'Paused: change freeze' } as const;
    const pause = { ...told, why: 'change freeze', stops: false };
    expect(judgeGates({ ...shut, enabled: true, pause })).toMatchObject({ gate: 'pause', progressing: { status: 'False', ...told } });
    expect(judgeBatchGates({ ...openGates, pause })).toMatchObject({ gate: 'pause', progressing: { status: 'True', ...told } });
  });

  test.each<{ name: string; input: Partial<GateInput>; want: string | undefined }>([
    { name: 'a window that opens again', input: { window: { kind: 'closed', message: 'm', opensAt: 7 } }, want: undefined },
    {
      name: 'a window that is over',
      input: { window: { kind: 'closed', message: 'The window ended' } },
      want: 'WaitingForWindow: The window ended; move or remove the annotations to go on',
    },
    { name: 'a window that cannot be read', input: { window: { kind: 'invalid', message: 'm' } }, want: 'InvalidWindow: m' },
    { name: 'a pause', input: { pause: { reason: 'Paused', message: 'm', why: 'w', stops: false } }, want: undefined },
    {
      name: 'a pause that is not known',
      input: { pause: { reason: 'InvalidPause', message: 'm', why: 'w', stops: false } },
      want: 'InvalidPause: m',
    },
    {
      name: 'an unknown annotation',
      input: { annotationProblem: { reason: 'UnknownAnnotation', message: 'm' } },
      want: 'UnknownAnnotation: m',
    },
    {
      name: 'a blocking upgrade that is missing',
      input: { blocking: { ...openGates.blocking, missing: ['x'] } },
      want: 'MissingBlockingCR: Missing blocking CRs: [x]; create it, or take it out of spec.blockingCRs',
    },
    { name: 'a blocking upgrade that goes on', input: { blocking: { ...openGates.blocking, incomplete: ['x'] } }, want: undefined },
    {
      name: 'a blocking upgrade that has failed',
      input: { blocking: { ...openGates.blocking, incomplete: ['x', 'y'], stalled: ['y'] } },
      want: 'IncompleteBlockingCR: Blocking CRs that have failed, or wait for somebody: [y]; follow their conditions, or take them out of spec.blockingCRs',
    },
    { name: 'a backup that goes on', input: { wantsBackup: true, backup: { finished: false, failed: [] } }, want: undefined },
    {
      name: 'a backup without an image',
      input: { wantsBackup: true, backup: { finished: false, failed: [], stall: { reason: 'BackupImageMissing', message: 'm' } } },
      want: 'BackupImageMissing: m',
    },
  ])('somebody has to act or not: $name', ({ input, want }) => {
    const stall = judgeGates({ ...openGates, ...input })?.stall;
    expect(stall && `${stall.reason}: ${stall.message}`).toBe(want);
  });

  test.each<{ name: string; input: Partial<GateInput>; says: string }>([
    {
      name: 'an upgrade that is not enabled',
      input: { enabled: false },
      says: 'waits (gate-enable): the upgrade is not enabled; seen: ClusterGroupUpgrade ns/u, spec.enable: false; to go on: set spec.enable to true',
    },
    {
      name: 'a window that opens by itself',
      input: { window: { kind: 'closed', message: 'Waiting for the window', opensAt: 0 } },
      says: 'waits (gate-window) until 1970-01-01T00:00:00Z at the latest: Waiting for the window; seen: ClusterGroupUpgrade ns/u, metadata.annotations[flotilla.io/window-end]: then',
    },
    {
      name: 'a window that is over',
      input: { window: { kind: 'closed', message: 'The window ended' } },
      says: 'waits (gate-window): The window ended; seen: ClusterGroupUpgrade ns/u, metadata.annotations[flotilla.io/window-end]: then; to go on: move or remove the annotations of the window',
    },
    {
      name: 'a pause',
      input: {
        pause: { reason: 'Paused', message: 'Paused: why; remove the annotation flotilla.io/paused to go on', why: '', stops: false },
      },
      says: 'waits (paused): Paused: why; seen: ClusterGroupUpgrade ns/u, metadata.annotations[flotilla.io/paused]: drain; to go on: remove the annotation flotilla.io/paused from the ClusterGroupUpgrade (flotilla resume u -n ns)',
    },
    {
      name: 'an upgrade before it',
      input: { blocking: { ...openGates.blocking, incomplete: ['x'], first: { namespace: 'ns2', name: 'x' } } },
      says: 'waits (gate-blocking) behind ns2/x: waits for ClusterGroupUpgrade ns2/x to complete; seen: ClusterGroupUpgrade ns/u, spec.blockingCRs: ns2/x',
    },
    {
      name: 'an upgrade that is not there',
      input: { blocking: { ...openGates.blocking, missing: ['x'], first: { namespace: 'ns2', name: 'x' } } },
      says: 'waits (gate-blocking): waits for ClusterGroupUpgrade ns2/x, which does not exist; seen: ClusterGroupUpgrade ns/u, spec.blockingCRs: ns2/x; to go on: create it, or take it out of spec.blockingCRs',
    },
  ])('a refusal is the wait that the status says: $name', ({ input, says }) => {
    const annotations = { 'flotilla.io/paused': 'drain', 'flotilla.io/window-end': 'then' };
    const upgrade = { metadata: { name: 'u', namespace: 'ns', annotations } };
    const wait = judgeGates({ ...openGates, upgrade, ...input })?.wait;
    expect(wait && waitMessage(wait)).toBe(says);
    expect(wait && readWait(says)).toEqual(wait);
  });

  test('a window that is yet to open says when to look again', () => expect(judgeGates({ ...shut, enabled: true })?.wakeAt).toBe(7));

  test('a batch asks for the window again, and for nothing else: it is in progress, whatever it waits for', () => {
    const progressing = {
      status: 'True',
      reason: 'WaitingForWindow',
      message: 'Waiting for the window; move or remove the annotations to go on',
    };
    expect(judgeBatchGates(shut)).toMatchObject({ gate: 'window', progressing, wakeAt: 7 });
    expect(judgeBatchGates({ ...shut, window: openGates.window })).toBeUndefined();
  });
});

describe('an upgrade that has nobody left ends there', () => {
  const NOBODY = 'No clusters available for remediation';
  test.each<{ name: string; input: GateInput; want: string }>([
    { name: 'all failed pre-caching', input: { ...shut, precaching: failedOn('a', 'b') }, want: `${NOBODY} (Precaching failed)` },
    {
      name: 'a canary failed pre-caching',
      input: { ...shut, canaries: ['b'], precaching: failedOn('b') },
      want: 'Precaching failed on canary clusters',
    },
    {
      name: 'all failed the backup',
      input: { ...openGates, wantsBackup: true, backup: failedOn('a', 'b') },
      want: `${NOBODY} (Backup failed)`,
    },
    {
      name: 'a canary failed the backup',
      input: { ...openGates, canaries: ['a'], wantsBackup: true, backup: failedOn('a') },
      want: 'Backup failed on canary clusters',
    },
    {
      name: 'none is eligible',
      input: { ...openGates, blocking: { missing: [], incomplete: [], stalled: [], eligible: new Set(['c']) } },
      want: `${NOBODY} after filtering out non-completed clusters from blocking CGUs`,
    },
    {
      name: 'the eligible ones failed',
      input: { ...openGates, precaching: failedOn('a'), blocking: { missing: [], incomplete: [], stalled: [], eligible: new Set(['a']) } },
      want: `${NOBODY} after filtering out non-completed clusters from blocking CGUs`,
    },
  ])('$name', ({ input, want }) => {
    expect(judgeGates(input)?.outcome).toEqual({
      progressing: { status: 'False', reason: 'Completed', message: want },
      succeeded: { status: 'False', reason: 'Failed', message: want },
    });
  });
});

test('who failed a job or is not eligible leaves the plan, the others keep their order', () => {
  const input = { ...openGates, planned: ['d', 'c', 'b', 'a'], precaching: failedOn('c'), backup: failedOn('b') };
  expect(remainingClusters(input)).toEqual(['d', 'a']);
  expect(remainingClusters({ ...input, blocking: { ...openGates.blocking, eligible: new Set(['a', 'b']) } })).toEqual(['a']);
});

describe('blocking upgrades', () => {
  const build = (
    name: string,
    options: { blocks?: object[]; annotations?: Record<string, string>; succeeded?: string; stalled?: string; complete?: string[] } = {},
  ) =>
    ClusterGroupUpgrade.schema.parse({
      metadata: { name, namespace: 'ns', annotations: options.annotations },
      spec: { remediationStrategy: { maxConcurrency: 1 }, blockingCRs: options.blocks },
      status: {
        clusters: options.complete?.map((cluster) => ({ name: cluster, state: 'complete' })),
        conditions: Object.entries({ Succeeded: options.succeeded, Stalled: options.stalled }).flatMap(([type, status]) =>
          status ? [{ type, status, reason: 'r', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }] : [],
        ),
      },
    });
  const others = [
    build('good', { succeeded: 'True', complete: ['a', 'b', 'b'] }),
    build('bad', { succeeded: 'False', complete: ['b', 'c'] }),
    build('busy', { complete: ['a'] }),
    build('stuck', { stalled: 'True' }),
  ];
  const judge = (names: string[], annotations: Record<string, string> = {}) => {
    const upgrade = build('mine', { blocks: names.map((name) => ({ name, namespace: 'ns' })), annotations });
    const found = judgeBlocking(upgrade, (ref) =>
      others.find(({ metadata }) => metadata.name === ref.name && metadata.namespace === ref.namespace),
    );
    const { missing, incomplete, stalled, eligible } = found;
    return { missing, incomplete, stalled, eligible: eligible && [...eligible] };
  };
  const partial: Record<string, string> = { 'ran.openshift.io/blocking-cgu-completion-mode': 'partial' };
  const filtering = { ...partial, 'ran.openshift.io/blocking-cgu-cluster-filtering': 'true' };

  test.each<{ name: string; names: string[]; annotations: Record<string, string>; want: object }>([
    {
      name: 'one that is not there is missing, one that has not succeeded is incomplete, and one that failed or waits for somebody is stalled',
      names: ['good', 'gone', 'bad', 'busy', 'stuck'],
      annotations: {},
      want: { missing: ['gone'], incomplete: ['bad', 'busy', 'stuck'], stalled: ['bad', 'stuck'] },
    },
    {
      name: 'with partial completion one that failed is over',
      names: ['good', 'bad', 'busy'],
      annotations: partial,
      want: { missing: [], incomplete: ['busy'] },
    },
    {
      name: 'with filtering only who completed in each of them is eligible, by name and not by count',
      names: ['good', 'bad'],
      annotations: filtering,
      want: { missing: [], incomplete: [], stalled: [], eligible: ['b'] },
    },
    {
      name: 'with filtering nobody is eligible while the one is gone that kept a cluster out',
      names: ['gone'],
      annotations: filtering,
      want: { missing: ['gone'], incomplete: [], eligible: [] },
    },
    {
      name: 'with filtering nobody is eligible by the others while one is gone',
      names: ['good', 'gone'],
      annotations: filtering,
      want: { missing: ['gone'], incomplete: [], eligible: [] },
    },
    {
      name: 'with filtering nobody is eligible while one that was made again has not ended',
      names: ['good', 'busy'],
      annotations: filtering,
      want: { missing: [], incomplete: ['busy'], eligible: [] },
    },
    {
      name: 'filtering without partial completion filters nothing',
      names: ['good'],
      annotations: { 'ran.openshift.io/blocking-cgu-cluster-filtering': 'true' },
      want: { missing: [], incomplete: [] },
    },
    {
      name: 'filtering without blocking upgrades filters nothing',
      names: [],
      annotations: filtering,
      want: { missing: [], incomplete: [] },
    },
  ])('$name', ({ names, annotations, want }) => expect(judge(names, annotations)).toEqual({ eligible: undefined, stalled: [], ...want }));

  test('one without a namespace is looked for beside the upgrade', () => {
    const upgrade = build('mine', { blocks: [{ name: 'good' }] });
    expect(judgeBlocking(upgrade, ({ namespace, name }) => (namespace === 'ns' && name === 'good' ? others[0] : undefined))).toMatchObject({
      missing: [],
      incomplete: [],
    });
  });
});

describe('upgrades that wait for each other', () => {
  const chain: Record<string, readonly string[]> = { a: ['b'], b: ['c'], c: ['a'], d: ['a'], e: ['e'] };
  const upgradeOf = (name: string) =>
    ClusterGroupUpgrade.schema.parse({
      metadata: { name, namespace: 'ns' },
      spec: { blockingCRs: chain[name]?.map((other) => ({ name: other, namespace: 'ns' })), remediationStrategy: { maxConcurrency: 1 } },
    });
  test.each([
    ['a', 'ns/a blocks ns/c blocks ns/b blocks ns/a'],
    ['b', 'ns/b blocks ns/a blocks ns/c blocks ns/b'],
    ['d', undefined],
    ['e', 'ns/e blocks ns/e'],
  ])('are named where %s is one of them, and never end by themselves', (name, blocks) => {
    const blocking = judgeBlocking(upgradeOf(name), (ref) => upgradeOf(ref.name));
    const refusal = judgeGates({ ...openGates, upgrade: upgradeOf(name), blocking });
    expect([refusal?.wait?.says, refusal?.stall?.message]).toEqual(
      blocks === undefined
        ? ['waits for ClusterGroupUpgrade ns/a to complete', undefined]
        : [blocks, `${blocks}: remove one of blockingCRs`],
    );
    expect(refusal?.wait?.fix).toBe(blocks && 'remove one of blockingCRs');
  });
});
