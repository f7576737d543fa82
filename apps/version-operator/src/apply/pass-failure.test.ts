import { type Awaited, type UpdateEffect, UpdateError } from '@flotilla/release';
import { describe, expect, test } from 'vitest';
import { failsAtMs, failureOf, type HeldManifest } from './pass-failure.ts';

const NOW = 1_000_000;
const secondsAgo = (seconds: number): number => NOW - seconds * 1_000;

function held(
  why: HeldManifest['why'],
  seconds: number,
  error: { reason: string; effect?: UpdateEffect; name?: string; kind?: string; awaited?: Awaited },
): HeldManifest {
  const { reason, effect, name = 'a', kind = 'Deployment', awaited } = error;
  const isOperator = kind === 'ClusterOperator';
  const manifest = {
    file: 'f',
    group: isOperator ? 'config.openshift.io' : 'apps',
    version: 'v1',
    kind,
    namespace: '',
    name,
    annotations: {},
    raw: '{}',
    object: {},
  } as unknown as HeldManifest['manifest'];
  return {
    why,
    wakes: [],
    manifest,
    sinceMs: secondsAgo(seconds),
    unchangedSinceMs: secondsAgo(seconds),
    error: new UpdateError({ reason, effect, message: `${reason} ${name}`, names: [name], awaited }),
  };
}
const unavailable = (seconds: number, name = 'a') =>
  held('failed', seconds, { reason: 'ClusterOperatorNotAvailable', effect: 'Fail', name, kind: 'ClusterOperator' });
const updating = (seconds: number, name = 'a') =>
  held('waiting', seconds, { reason: 'ClusterOperatorUpdating', effect: 'None', name, kind: 'ClusterOperator' });
const rolling = (seconds: number, name = 'w') => held('waiting', seconds, { reason: 'WorkloadUpdating', effect: 'None', name });
const missing = (seconds: number, name = 'm') => held('trouble', seconds, { reason: 'UpdatePayloadResourceTypeMissing', name });

describe('what is told of an update', () => {
  const update = (...all: HeldManifest[]) => failureOf(all, [], { isInstalling: false, isReconciling: false, lastDoneMs: NOW, nowMs: NOW });
  test.each([
    { name: 'nothing, where nothing is held up', given: [], want: undefined },
    { name: 'an operator that is not available, at once', given: [unavailable(0)], want: 'ClusterOperatorNotAvailable' },
    { name: 'nothing of a request that failed just now', given: [missing(9)], want: undefined },
    { name: 'a request that keeps failing', given: [missing(10)], want: 'UpdatePayloadResourceTypeMissing' },
    { name: 'an operator, not the workloads beside it', given: [unavailable(0), rolling(0)], want: 'ClusterOperatorNotAvailable' },
    { name: 'several failures', given: [unavailable(0), missing(10), rolling(0)], want: 'MultipleErrors' },
    { name: 'several operators as one', given: [unavailable(0), unavailable(0, 'b')], want: 'ClusterOperatorsNotAvailable' },
    { name: 'an operator that updates beside one that fails', given: [unavailable(0), updating(0, 'b')], want: 'MultipleErrors' },
    { name: 'several waits as one', given: [updating(0), rolling(0)], want: 'ClusterOperatorsUpdating' },
    { name: 'several workloads as one', given: [rolling(0), rolling(0, 'x')], want: 'WorkloadUpdating' },
  ])('$name', ({ given, want }) => expect(update(...given)?.reason).toBe(want));
});

describe('what is told of an install', () => {
  const install = (lastDone: number, ...all: HeldManifest[]) =>
    failureOf(all, [], { isInstalling: true, isReconciling: false, lastDoneMs: secondsAgo(lastDone), nowMs: NOW })?.reason;

  test('progress while it gets on, however long something has to wait', () => {
    expect(install(29, unavailable(300), missing(300), rolling(300))).toBeUndefined();
  });

  test('what stops it, when nothing has got on for half a minute', () => {
    expect(install(30, unavailable(300))).toBe('ClusterOperatorNotAvailable');
    expect(install(30, unavailable(300), unavailable(29, 'b'))).toBe('ClusterOperatorNotAvailable');
    expect(install(30, unavailable(300), missing(300))).toBe('MultipleErrors');
  });

  test('a Job that failed, at once', () => {
    expect(install(0, held('failed', 0, { reason: 'WorkloadNotProgressing', kind: 'Job' }))).toBe('WorkloadNotProgressing');
  });

  test('and it is known when there will be something to tell', () => {
    const moment = { isInstalling: true, isReconciling: false, lastDoneMs: secondsAgo(10), nowMs: NOW };
    expect(failsAtMs([unavailable(300), missing(5)], moment)).toBe(NOW + 20_000);
    expect(failsAtMs([missing(4)], { ...moment, isInstalling: false })).toBe(NOW + 6_000);
    expect(failsAtMs([missing(40)], { ...moment, isInstalling: false })).toBeUndefined();
  });
});

describe('what is told of a cluster that is as it should be', () => {
  const moment = { isInstalling: false, isReconciling: true, lastDoneMs: NOW, nowMs: NOW };
  const refused = (seconds: number) => held('failed', seconds, { reason: 'WorkloadNotProgressing', name: 'ns/d' });
  test.each([
    { name: 'nothing of a workload that was refused a pod for a moment', given: [refused(119)], want: undefined },
    { name: 'a workload that is refused its pods', given: [refused(120)], want: 'WorkloadNotProgressing' },
    { name: 'an operator that is not available, at once', given: [unavailable(0)], want: 'ClusterOperatorNotAvailable' },
    { name: 'a request that keeps failing', given: [missing(10)], want: 'UpdatePayloadResourceTypeMissing' },
  ])('$name', ({ given, want }) => expect(failureOf(given, [], moment)?.reason).toBe(want));
});

describe('a workload that gets no further', () => {
  const moment = { isInstalling: false, isReconciling: false, lastDoneMs: NOW, nowMs: NOW };
  const awaited = { kind: 'daemonset', how: '3 of 5 nodes are updated', limitMs: 1_800_000 };
  const rollout = (seconds: number, more: Partial<HeldManifest> = {}) => ({
    ...held('waiting', 36_000, { reason: 'WorkloadUpdating', effect: 'None', name: 'lab/ds', awaited }),
    unchangedSinceMs: secondsAgo(seconds),
    ...more,
  });

  test('is waited for, with how far it is and since when', () => {
    const failure = failureOf([rollout(1_799)], [], moment);
    expect(failure).toMatchObject({ reason: 'WorkloadUpdating', effect: 'None', awaited: { ...awaited, sinceMs: secondsAgo(1_799) } });
    expect(failsAtMs([rollout(1_799)], moment)).toBe(NOW + 1_000);
  });

  test('is a failure when its time is over, however long it is waited for', () => {
    const failure = failureOf([rollout(1_800, { pod: 'pod ds-x: container c: ImagePullBackOff' })], [], moment);
    expect(failure).toMatchObject({ reason: 'WorkloadNotProgressing', effect: undefined, names: ['lab/ds'] });
    expect(failure?.message).toBe(
      `lab/ds has got no further for 30 minutes: daemonset: 3 of 5 nodes are updated, since ${new Date(secondsAgo(1_800)).toISOString().slice(0, 19)}Z; pod ds-x: container c: ImagePullBackOff`,
    );
    expect(failsAtMs([rollout(1_800)], moment)).toBeUndefined();
  });

  test('may take as long as it likes where nothing limits it', () => {
    const job = rollout(36_000);
    const { reason, message, effect } = job.error;
    const error = new UpdateError({ reason, message, effect, awaited: { ...awaited, limitMs: undefined } });
    expect(failureOf([{ ...job, error }], [], moment)).toMatchObject({ effect: 'None' });
  });

  test('that its conditions say failed is told with what its pod says', () => {
    const failed = { ...held('failed', 0, { reason: 'WorkloadNotProgressing', name: 'ns/d' }), pod: 'pod d-x: Unschedulable: 0/3 nodes' };
    expect(failureOf([failed], [], moment)?.message).toBe('WorkloadNotProgressing ns/d; pod d-x: Unschedulable: 0/3 nodes');
  });
});
