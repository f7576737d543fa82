import { describe, expect, test } from 'vitest';
import { failure, minutesAgo, NOW } from '../../testing/cluster-version-builders.ts';
import type { Awaited, UpdateError } from '../graph/update-error.ts';
import { type FailureContext, readFailure } from './failure.ts';

const context = (more: Partial<FailureContext> = {}): FailureContext => ({
  reconciling: false,
  hasHistory: true,
  operatorStarts: new Map(),
  nowMs: NOW,
  ...more,
});
type Minutes = Readonly<Record<string, number>>;
const since = (starts: Minutes) => new Map(Object.entries(starts).map(([name, minutes]) => [name, minutesAgo(minutes)]));

const updating = (...names: string[]) =>
  failure({
    reason: 'ClusterOperatorsUpdating',
    message: `Cluster operators ${names.join(', ')} are updating versions`,
    effect: 'None',
    names,
  });
const degraded = (...names: string[]) =>
  failure({ reason: 'ClusterOperatorDegraded', message: 'Cluster operator dns is degraded', effect: 'FailAfterInterval', names });
const down = failure({
  reason: 'UpdatePayloadClusterDown',
  message: 'Could not update x: the server is down or not responding',
  names: [],
});

describe('what is only waited for', () => {
  test.each<{ name: string; error: UpdateError; starts: Minutes; text: string; slow: boolean }>([
    {
      name: 'operators within their time',
      error: updating('dns', 'etcd'),
      starts: { dns: 30, etcd: 1 },
      text: 'waiting on dns, etcd',
      slow: false,
    },
    { name: 'an operator that nobody has seen begin', error: updating('dns'), starts: {}, text: 'waiting on dns', slow: false },
    {
      name: 'only those that are slow, among others',
      error: updating('dns', 'etcd'),
      starts: { dns: 31, etcd: 1 },
      text: 'waiting on dns over 30 minutes which is longer than expected',
      slow: true,
    },
    {
      name: 'machine-config for ninety minutes',
      error: updating('machine-config'),
      starts: { 'machine-config': 90 },
      text: 'waiting on machine-config',
      slow: false,
    },
    {
      name: 'machine-config for longer',
      error: updating('machine-config'),
      starts: { 'machine-config': 91 },
      text: 'waiting on machine-config over 90 minutes which is longer than expected',
      slow: true,
    },
    {
      name: 'machine-config and another',
      error: updating('dns', 'machine-config'),
      starts: { dns: 31, 'machine-config': 91 },
      text: 'waiting on dns over 30 minutes and machine-config over 90 minutes which is longer than expected',
      slow: true,
    },
    {
      name: 'a degraded operator within its time',
      error: degraded('dns'),
      starts: { dns: 40 },
      text: 'waiting up to 40 minutes on dns',
      slow: false,
    },
  ])('$name', ({ error, starts, text, slow }) => {
    const reading = readFailure(error, context({ operatorStarts: since(starts) }));
    expect(reading).toMatchObject({ isWait: true, text, reason: error.reason });
    expect(reading.failing).toEqual(
      slow ? { type: 'Failing', status: 'Unknown', reason: 'SlowClusterOperator', message: text } : { type: 'Failing', status: 'False' },
    );
  });

  test.each([{ reconciling: false }, { reconciling: true }])('an API server that is away for less than a minute, $reconciling', (more) => {
    expect(readFailure(down, context({ ...more, failingSinceMs: NOW - 59_000 }))).toEqual({
      reason: 'UpdatePayloadClusterDown',
      text: '',
      isWait: true,
      failing: { type: 'Failing', status: 'False' },
      changesAtMs: NOW + 1_000,
    });
  });
});

describe('what fails', () => {
  test.each<{ name: string; error: UpdateError; text: string; starts?: Minutes; failingSinceMs?: number }>([
    { name: 'an operator that is not available', error: failure({ effect: 'Fail' }), text: '' },
    { name: 'what is only reported', error: failure({ effect: 'Report' }), text: 'Cluster operator dns is updating versions' },
    { name: 'an error of the API', error: failure({ reason: 'UpdatePayloadResourceInvalid', names: [] }), text: '' },
    { name: 'an API server that is away for a minute', error: down, text: '', failingSinceMs: NOW - 60_000 },
    { name: 'an API server that is away since nobody knows when', error: down, text: '' },
    {
      name: 'a degraded operator after forty minutes',
      error: degraded('dns', 'etcd'),
      starts: { dns: 41, etcd: 1 },
      text: 'wait has exceeded 40 minutes for these operators: dns',
    },
    {
      name: 'a degraded operator that nobody has seen begin',
      error: degraded('dns'),
      text: 'wait has exceeded 40 minutes for these operators: dns',
    },
  ])('$name', ({ error, text, starts = {}, failingSinceMs }) => {
    const reading = readFailure(error, context({ operatorStarts: since(starts), failingSinceMs }));
    expect(reading).toMatchObject({ isWait: false, text, reason: error.reason });
    expect(reading.failing).toEqual({ type: 'Failing', status: 'True', reason: error.reason, message: error.message });
  });

  test.each([
    { name: 'while reconciling', more: { reconciling: true } },
    { name: 'before anything was ever applied', more: { hasHistory: false } },
  ])('nothing is softened $name', ({ more }) => {
    const error = updating('dns');
    expect(readFailure(error, context(more))).toEqual({
      reason: error.reason,
      text: '',
      isWait: false,
      failing: { type: 'Failing', status: 'True', reason: error.reason, message: error.message },
    });
  });
});

describe('several errors', () => {
  const several = (...errors: UpdateError[]) =>
    failure({ reason: 'MultipleErrors', message: 'all of them', names: [], cause: new AggregateError(errors) });
  const hard = failure({ reason: 'UpdatePayloadFailed', message: 'Could not update pod "x" (1 of 2)', names: [] });
  const other = failure({ reason: 'WorkloadNotAvailable', message: 'deployment a/b is not available', names: ['a/b'] });

  test.each([
    {
      name: 'of an operator within its forty minutes are those beside it',
      error: several(degraded('dns'), hard),
      want: { type: 'Failing', status: 'True', reason: hard.reason, message: hard.message },
    },
    {
      name: 'with one that is no wait are that one',
      error: several(updating('dns'), hard),
      want: { type: 'Failing', status: 'True', reason: hard.reason, message: hard.message },
    },
    {
      name: 'are told without the waits',
      error: several(hard, updating('dns'), other),
      want: {
        type: 'Failing',
        status: 'True',
        reason: 'MultipleErrors',
        message: `Multiple errors are preventing progress:\n* ${hard.message}\n* ${other.message}`,
      },
    },
  ])('$name', ({ error, want }) => {
    const reading = readFailure(error, context({ operatorStarts: since({ dns: 1 }) }));
    expect(reading.failing).toEqual(want);
    expect(reading).toMatchObject({ isWait: false, reason: 'MultipleErrors' });
  });

  test.each([
    { name: 'of waits', error: several(updating('dns'), updating('etcd')), text: 'waiting on dns; waiting on etcd', changes: 29 },
    {
      name: 'of an operator within its forty minutes and one that updates',
      error: several(degraded('dns'), updating('etcd')),
      text: 'waiting up to 40 minutes on dns; waiting on etcd',
      changes: 29,
    },
    { name: 'of an API server that is away for a moment', error: several(down, down), text: '', changes: 1 },
  ])('$name alone are a wait', ({ error, text, changes }) => {
    const starts = since({ dns: 1, etcd: 1 });
    const reading = readFailure(error, context({ operatorStarts: starts, failingSinceMs: NOW }));
    expect(reading).toMatchObject({ isWait: true, text, failing: { type: 'Failing', status: 'False' } });
    expect(Math.round(((reading.changesAtMs ?? 0) - NOW) / 60_000)).toBe(changes);
  });

  test('of an operator beyond its forty minutes and one that updates are the first', () => {
    const reading = readFailure(several(degraded('dns'), updating('etcd')), context({ operatorStarts: since({ dns: 41, etcd: 1 }) }));
    expect(reading).toMatchObject({ isWait: false, failing: { status: 'True', reason: 'ClusterOperatorDegraded' } });
  });
});

describe('in a cluster that is as it should be', () => {
  test.each([
    { name: 'an operator that is only told of has forty minutes', starts: { dns: 40 }, isWait: true, status: 'False' },
    { name: 'and no more', starts: { dns: 41 }, isWait: false, status: 'True' },
  ])('$name', ({ starts, isWait, status }) => {
    const reading = readFailure(degraded('dns'), context({ reconciling: true, operatorStarts: since(starts) }));
    expect(reading).toMatchObject({ isWait, failing: { status } });
  });
});

describe('a workload that is waited for', () => {
  const rolling = (name: string, more: Partial<Awaited> = {}) =>
    failure({
      reason: 'WorkloadUpdating',
      message: `daemonset ${name} is rolling out: 3 of 5 nodes are updated`,
      effect: 'None',
      names: [name],
      awaited: { kind: 'daemonset', how: '3 of 5 nodes are updated', sinceMs: minutesAgo(10), ...more },
    });
  const joined = (...errors: UpdateError[]) =>
    failure({
      reason: 'ClusterOperatorsUpdating',
      message: 'm',
      effect: 'None',
      names: errors.flatMap(({ names }) => names).sort(),
      cause: new AggregateError(errors),
    });
  const told = 'daemonset: 3 of 5 nodes are updated, since 2026-01-01T23:50:00Z';

  test.each([
    { name: 'is told with how far it is', error: rolling('lab/ds'), text: `waiting on lab/ds (${told})` },
    {
      name: 'is told with what its pod says',
      error: rolling('lab/ds', { pod: 'pod ds-x: ImagePullBackOff' }),
      text: `waiting on lab/ds (${told}; pod ds-x: ImagePullBackOff)`,
    },
    {
      name: 'is told beside operators',
      error: joined(rolling('lab/ds'), updating('dns', 'etcd')),
      text: `waiting on dns, etcd, lab/ds (${told})`,
    },
    {
      name: 'is told by its name alone behind five others',
      error: joined(...[1, 2, 3, 4, 5, 6].map((index) => rolling(`lab/${index}`))),
      text: `waiting on ${[1, 2, 3, 4, 5].map((index) => `lab/${index} (${told})`).join(', ')}, lab/6`,
    },
  ])('$name', ({ error, text }) =>
    expect(readFailure(error, context())).toMatchObject({ isWait: true, text, failing: { status: 'False' } }),
  );

  test('is told in full in what fails, too', () => {
    const stuck = failure({
      reason: 'WorkloadNotProgressing',
      message: 'lab/ds has got no further for 30 minutes: ...',
      names: ['lab/ds'],
      awaited: { kind: 'daemonset', how: '3 of 5 nodes are updated' },
    });
    expect(readFailure(stuck, context())).toMatchObject({ isWait: false, text: stuck.message, failing: { message: stuck.message } });
  });
});

test('a slow operator is told with what it says of itself', () => {
  const error = failure({ effect: 'None', names: ['dns'], said: 'Deploying: 2 of 3 pods are updated' });
  const reading = readFailure(error, context({ operatorStarts: since({ dns: 31 }) }));
  expect(reading.text).toBe('waiting on dns over 30 minutes which is longer than expected');
  expect(reading.failing.message).toBe(`${reading.text}: dns: Deploying: 2 of 3 pods are updated`);
});

test.each<{ error: UpdateError; starts: Minutes; afterMinutes: number | undefined }>([
  { error: updating('dns'), starts: { dns: 29 }, afterMinutes: 1 },
  { error: updating('dns', 'machine-config'), starts: { dns: 31, 'machine-config': 80 }, afterMinutes: 10 },
  { error: degraded('dns'), starts: { dns: 30 }, afterMinutes: 10 },
  { error: updating('dns'), starts: { dns: 31 }, afterMinutes: undefined },
])('$error.message since $starts is judged again when that changes it', ({ error, starts, afterMinutes }) => {
  const operatorStarts = since(starts);
  const before = readFailure(error, context({ operatorStarts }));
  expect(before.changesAtMs).toBe(afterMinutes === undefined ? undefined : NOW + afterMinutes * 60_000 + 1);
  if (before.changesAtMs === undefined) return;
  expect(readFailure(error, context({ operatorStarts, nowMs: before.changesAtMs })).text).not.toBe(before.text);
  expect(readFailure(error, context({ operatorStarts, nowMs: before.changesAtMs - 1 })).text).toBe(before.text);
});
