import { expect, test } from 'vitest';
import { failure } from '../../testing/cluster-version-builders.ts';
import type { FailureReading } from './failure.ts';
import { nameOfRelease, type Progress, progressOf } from './progress.ts';

const base: Progress = { release: '4.20.2', reconciling: false, isInvalid: false, done: 0, total: 903 };
const reading = (more: Partial<FailureReading>): FailureReading => ({
  reason: 'R',
  text: '',
  isWait: false,
  failing: { type: 'Failing', status: 'True' },
  ...more,
});
const wait = { error: failure(), reading: reading({ reason: 'ClusterOperatorUpdating', text: 'waiting on dns', isWait: true }) };
const degraded = failure({ reason: 'ClusterOperatorDegraded', names: ['dns'] });
const broken = { error: degraded, reading: reading({ reason: 'ClusterOperatorDegraded' }) };
const plain = { error: failure({ reason: '', message: 'boom', names: [] }), reading: reading({ reason: '' }) };
const several = { error: failure({ reason: 'MultipleErrors', names: [] }), reading: reading({ reason: 'MultipleErrors' }) };
const over = { error: degraded, reading: reading({ text: 'wait has exceeded 40 minutes for these operators: dns' }) };
const outage = {
  error: failure({ reason: 'UpdatePayloadClusterDown', names: [] }),
  reading: reading({ reason: 'UpdatePayloadClusterDown', isWait: true }),
};

test.each<{ given: Partial<Progress>; want: [status: string, reason: string, message: string] }>([
  { given: {}, want: ['True', '', 'Working towards 4.20.2'] },
  { given: { done: 606 }, want: ['True', '', 'Working towards 4.20.2: 606 of 903 done (67% complete)'] },
  { given: { done: 902 }, want: ['True', '', 'Working towards 4.20.2: 902 of 903 done (99% complete)'] },
  { given: { total: 0 }, want: ['True', '', 'Working towards 4.20.2'] },
  {
    given: { done: 606, failure: wait },
    want: ['True', 'ClusterOperatorUpdating', 'Working towards 4.20.2: 606 of 903 done (67% complete), waiting on dns'],
  },
  { given: { failure: wait }, want: ['True', 'ClusterOperatorUpdating', 'Working towards 4.20.2: waiting on dns'] },
  {
    given: { done: 9, failure: outage },
    want: [
      'True',
      'UpdatePayloadClusterDown',
      'Working towards 4.20.2: 9 of 903 done (0% complete), the control plane is down or not responding',
    ],
  },
  { given: { isInvalid: true, done: 5 }, want: ['True', 'InvalidClusterVersion', 'Reconciling 4.20.2: the cluster version is invalid'] },
  { given: { reconciling: true }, want: ['False', '', 'Cluster version is 4.20.2'] },
  {
    given: { reconciling: true, isInvalid: true },
    want: ['False', 'InvalidClusterVersion', 'Stopped at 4.20.2: the cluster version is invalid'],
  },
  {
    given: { reconciling: true, failure: broken },
    want: ['False', 'ClusterOperatorDegraded', 'Error while reconciling 4.20.2: the cluster operator dns is degraded'],
  },
  {
    given: { done: 5, failure: broken },
    want: ['True', 'ClusterOperatorDegraded', 'Unable to apply 4.20.2: the cluster operator dns is degraded'],
  },
  { given: { failure: over }, want: ['True', 'R', 'Unable to apply 4.20.2: wait has exceeded 40 minutes for these operators: dns'] },
  { given: { failure: plain }, want: ['True', '', 'Unable to apply 4.20.2: an error occurred'] },
  {
    given: { failure: several },
    want: ['True', 'MultipleErrors', 'Unable to apply 4.20.2: an unknown error has occurred: MultipleErrors'],
  },
])('$want', ({ given, want: [status, reason, message] }) =>
  expect(progressOf({ ...base, ...given })).toEqual({ type: 'Progressing', status, reason, message }),
);

test.each([
  { version: '4.20.2', image: 'i', want: '4.20.2' },
  { version: '', image: 'i', want: 'i' },
  { version: '', image: '', want: '<unknown>' },
])('a release is called $want', ({ want, ...release }) => expect(nameOfRelease(release)).toBe(want));
