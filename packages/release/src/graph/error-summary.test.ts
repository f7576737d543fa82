import { describe, expect, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { type PassError, summarizeErrors, summaryForReason } from './error-summary.ts';
import { textOfTask, toTasks } from './task-graph.ts';
import { PassEndedError, type UpdateEffect, UpdateError, updateErrorOf } from './update-error.ts';

const manifest = payloadManifest('release-manifests/a.yaml', {
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterOperator',
  metadata: { name: 'x' },
});
const text = { NotAvailable: 'is not available', Degraded: 'is degraded', Updating: 'is updating versions' };
const operator = (name: string, what: keyof typeof text, effect?: UpdateEffect): PassError => ({
  manifest,
  error: new UpdateError({ reason: `ClusterOperator${what}`, message: `Cluster operator ${name} ${text[what]}`, effect, names: [name] }),
});
const api = (message: string): PassError => ({ error: new UpdateError({ reason: 'UpdatePayloadFailed', message }) });

describe('the errors of a pass become', () => {
  test.each<{ name: string; errors: PassError[]; want: object | undefined }>([
    {
      name: 'nothing where the pass only ended',
      errors: [{ error: new PassEndedError('context canceled', { done: 1, total: 2 }) }],
      want: undefined,
    },
    { name: 'the only one', errors: [api('a')], want: { reason: 'UpdatePayloadFailed', message: 'a' } },
    {
      name: 'the only one of an operator',
      errors: [operator('a', 'Degraded', 'Report')],
      want: { reason: 'ClusterOperatorDegraded', message: 'Cluster operator a is degraded', names: ['a'] },
    },
    {
      name: 'one of operators with the same reason, with the worst effect',
      errors: [operator('b', 'Updating', 'None'), operator('a', 'Updating', 'FailAfterInterval'), operator('c', 'Updating', 'Report')],
      want: {
        reason: 'ClusterOperatorsUpdating',
        message: 'Cluster operators a, b, c are updating versions',
        names: ['a', 'b', 'c'],
        effect: 'FailAfterInterval',
      },
    },
    {
      name: 'a list of those that differ, sorted, each text once',
      errors: [operator('b', 'NotAvailable'), api('z'), operator('a', 'NotAvailable'), api('z'), operator('c', 'Degraded')],
      want: {
        reason: 'MultipleErrors',
        effect: undefined,
        message:
          'Multiple errors are preventing progress:\n* Cluster operator c is degraded\n* Cluster operators a, b are not available\n* z',
      },
    },
    {
      name: 'a list of one text where all are the same',
      errors: [api('z'), api('z')],
      want: { reason: 'MultipleErrors', message: 'Multiple errors are preventing progress:\n* z' },
    },
    { name: 'an error without a reason', errors: [{ error: new Error('plain') }], want: { reason: '', message: 'plain' } },
  ])('$name', ({ errors, want }) => {
    const found = summarizeErrors(errors);
    if (want === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(want);
  });
});

test.each<{ status: string | undefined; want: string }>([
  {
    status: 'AlreadyExists',
    want: 'UpdatePayloadResourceNotFound Could not update pod "x" (1 of 1): resource may have been deleted: inner',
  },
  {
    status: 'ServerTimeout',
    want: 'UpdatePayloadClusterOverloaded Could not update pod "x" (1 of 1): the server is overloaded and is not accepting updates: inner',
  },
  {
    status: 'NoMatch',
    want: 'UpdatePayloadResourceTypeMissing Could not update pod "x" (1 of 1): the server does not recognize this resource, check extension API servers: inner',
  },
  { status: undefined, want: 'UpdatePayloadFailed Could not update pod "x" (1 of 1): inner' },
])('the server says $status', ({ status, want }) => {
  const pod = payloadManifest('release-manifests/a.yaml', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } });
  const [task] = toTasks([pod]).map(textOfTask);
  const { reason, message } = updateErrorOf(task ?? '', { cause: new Error('inner'), reason: status });
  expect(`${reason} ${message}`).toBe(want);
});

test.each([
  { reason: 'UpdatePayloadIntegrity', name: '', want: 'the contents of the update are invalid' },
  { reason: 'UpdatePayloadFailed', name: '', want: 'the update could not be applied' },
  { reason: 'ClusterOperatorDegraded', name: 'dns', want: 'the cluster operator dns is degraded' },
  { reason: 'ClusterOperatorDegraded', name: '', want: 'a cluster operator is degraded' },
  { reason: 'ClusterOperatorsNotAvailable', name: 'a, b', want: 'some cluster operators are not available' },
  { reason: 'MultipleErrors', name: '', want: 'an unknown error has occurred: MultipleErrors' },
  { reason: 'ClusterOperatorUpdating', name: 'dns', want: 'dns has an unknown error: ClusterOperatorUpdating' },
])('$reason about "$name"', ({ reason, name, want }) => expect(summaryForReason(reason, name)).toBe(want));

test.each([
  { name: 'lines and control characters', said: 'denied:\n\t* a\u0000b\u001b[31m\u202e  c', want: 'denied: * a b [31m c' },
  { name: 'half of a pair', said: 'a\ud83d', want: 'a\ufffd' },
  { name: 'nothing', said: '\u0000\n', want: '' },
])('of what a server says a message has $name on one line, printable', ({ said, want }) => {
  expect(updateErrorOf('pod "x" (1 of 1)', { said }).message).toBe(`Could not update pod "x" (1 of 1)${want && `: ${want}`}`);
});

test('what a server says at length is cut at a word, before it is looked at', () => {
  const { message } = updateErrorOf('x', { said: 'word '.repeat(10_000_000) });
  expect(message).toMatch(/ word…$/);
  expect(message.length).toBeLessThan(1_100);
});

test('of a thousand refusals twenty are told, and how many more there are', () => {
  const errors = Array.from({ length: 1_000 }, (_, index) => api(`refused ${String(index).padStart(3, '0')}`));
  const message = summarizeErrors(errors)?.message ?? '';
  expect(message.split('\n')).toHaveLength(22);
  expect(message).toContain('\n* refused 019\n* and 980 more');
});

test('several operators are told with what each of them says', () => {
  const says = (name: string, said: string): PassError => ({
    manifest,
    error: new UpdateError({ reason: 'ClusterOperatorDegraded', message: 'm', names: [name], said, effect: 'Fail' }),
  });
  expect(summarizeErrors([says('etcd', 'Quorum: 1 of 3'), says('dns', ''), says('auth', 'Broken: x'.repeat(99))])?.message).toMatch(
    /^Cluster operators auth, dns, etcd are degraded: auth: Broken: [^;]{150,200}…; etcd: Quorum: 1 of 3$/,
  );
});
