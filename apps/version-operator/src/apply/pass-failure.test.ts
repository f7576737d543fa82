import { type UpdateEffect, UpdateError } from '@flotilla/release';
import { describe, expect, test } from 'vitest';
import { failsAtMs, failureOf, type HeldManifest } from './pass-failure.ts';

const NOW = 1_000_000;
const secondsAgo = (seconds: number): number => NOW - seconds * 1_000;

function held(
  why: HeldManifest['why'],
  seconds: number,
  error: { reason: string; effect?: UpdateEffect; name?: string; kind?: string },
): HeldManifest {
  const { reason, effect, name = 'a', kind = 'Deployment' } = error;
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
    error: new UpdateError({ reason, effect, message: `${reason} ${name}`, names: [name] }),
  };
}
const unavailable = (seconds: number, name = 'a') =>
  held('failed', seconds, { reason: 'ClusterOperatorNotAvailable', effect: 'Fail', name, kind: 'ClusterOperator' });
const updating = (seconds: number, name = 'a') =>
  held('waiting', seconds, { reason: 'ClusterOperatorUpdating', effect: 'None', name, kind: 'ClusterOperator' });
const rolling = (seconds: number, name = 'w') => held('waiting', seconds, { reason: 'WorkloadUpdating', effect: 'None', name });
const missing = (seconds: number, name = 'm') => held('trouble', seconds, { reason: 'UpdatePayloadResourceTypeMissing', name });

describe('what is told of an update', () => {
  const update = (...all: HeldManifest[]) => failureOf(all, [], { isInstalling: false, lastDoneMs: NOW, nowMs: NOW });
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
    failureOf(all, [], { isInstalling: true, lastDoneMs: secondsAgo(lastDone), nowMs: NOW })?.reason;

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
    const moment = { isInstalling: true, lastDoneMs: secondsAgo(10), nowMs: NOW };
    expect(failsAtMs([unavailable(300), missing(5)], moment)).toBe(NOW + 20_000);
    expect(failsAtMs([missing(4)], { ...moment, isInstalling: false })).toBe(NOW + 6_000);
    expect(failsAtMs([missing(40)], { ...moment, isInstalling: false })).toBeUndefined();
  });
});
