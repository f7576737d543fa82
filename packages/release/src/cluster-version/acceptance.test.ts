import { describe, expect, test } from 'vitest';
import { clusterVersion, entry } from '../../testing/cluster-version-builders.ts';
import {
  type AcceptanceStep,
  acceptedOf,
  acceptedRisksOf,
  loadedEvent,
  loadedMessage,
  preconditionsEvent,
  stepEvent,
  stepFailedEvent,
  stepFailedMessage,
  unfoundUpdate,
  wrongVersionMessage,
} from './acceptance.ts';

const release = { version: '4.20.2', image: 'r@sha256:2' };
const named = 'version="4.20.2" image="r@sha256:2"';

test.each<{ step: AcceptanceStep; why: string; want: string }>([
  {
    step: 'RetrievePayload',
    why: 'The update cannot be verified: no signature',
    want: `Retrieving payload failed ${named} failure=The update cannot be verified: no signature`,
  },
  { step: 'LoadPayload', why: 'x', want: `Loading payload failed ${named} failure=x` },
  {
    step: 'VerifyPayloadVersion',
    why: wrongVersionMessage('4.20.3', '4.20.2'),
    want: `Verifying payload failed ${named} failure=release image version 4.20.3 does not match the expected upstream version 4.20.2`,
  },
  { step: 'PreconditionChecks', why: 'x', want: `Preconditions failed for payload loaded ${named}: x` },
])('$step says why it failed', ({ step, why, want }) => expect(stepFailedMessage(step, release, { message: why })).toBe(want));

test('a release that is taken is named with its architecture, one that the cluster came back to without', () => {
  expect(loadedMessage(release, 'amd64')).toBe(`Payload loaded ${named} architecture="amd64"`);
  expect(loadedMessage(release)).toBe(`Payload loaded ${named}`);
});

describe('ReleaseAccepted', () => {
  const acceptance = { message: 'm', release, local: false, verified: true, acceptedRisks: '' };
  test.each<{ step: AcceptanceStep; failed: boolean; want: string }>([
    { step: 'RetrievePayload', failed: false, want: 'Unknown' },
    { step: 'RetrievePayload', failed: true, want: 'False' },
    { step: 'PreconditionChecks', failed: true, want: 'False' },
    { step: 'PayloadLoaded', failed: false, want: 'True' },
  ])('$step, failed: $failed, is $want', ({ step, failed, want }) =>
    expect(acceptedOf({ ...acceptance, step, failed })).toEqual({ type: 'ReleaseAccepted', status: want, reason: step, message: 'm' }),
  );
});

describe('events', () => {
  test('of a failure tell all that led to it, on one line', () => {
    const error = new Error('Unable to download and prepare the update: refused\nby the server', {
      cause: new Error('refused\nby the server', { cause: new Error('no route to host') }),
    });
    expect(stepFailedEvent('RetrievePayload', release, error)).toEqual({
      type: 'Warning',
      reason: 'RetrievePayloadFailed',
      message: `Retrieving payload failed ${named} failure=Unable to download and prepare the update: refused // by the server: no route to host`,
    });
  });

  test.each([
    { event: stepEvent('RetrievePayload', release), want: ['Normal', 'RetrievePayload', `Retrieving and verifying payload ${named}`] },
    { event: stepEvent('LoadPayload', release), want: ['Normal', 'LoadPayload', `Loading payload ${named}`] },
    {
      event: stepFailedEvent('LoadPayload', release, new Error('x')),
      want: ['Warning', 'LoadPayloadFailed', `Loading payload failed ${named} failure=x`],
    },
    {
      event: stepFailedEvent('VerifyPayloadVersion', release, new Error('x')),
      want: ['Warning', 'VerifyPayloadVersionFailed', `Verifying payload failed ${named} failure=x`],
    },
    {
      event: stepFailedEvent('PreconditionChecks', release, new Error('x')),
      want: ['Warning', 'PreconditionBlock', `Preconditions failed for payload loaded ${named}: x`],
    },
    { event: preconditionsEvent(release, ''), want: ['Normal', 'PreconditionsPassed', `preconditions passed for payload loaded ${named}`] },
    {
      event: preconditionsEvent(release, 'a\n* b'),
      want: ['Warning', 'PreconditionWarn', `precondition warning for payload loaded ${named}: a // * b`],
    },
    { event: loadedEvent(release, 'amd64'), want: ['Normal', 'PayloadLoaded', `Payload loaded ${named} architecture="amd64"`] },
  ])('$want', ({ event, want: [type, reason, message] }) => expect(event).toEqual({ type, reason, message }));

  test('the later steps begin without one', () => expect(stepEvent('PreconditionChecks', release)).toBeUndefined());
});

describe('accepted risks', () => {
  const names = 'exposed to the risks [A, B] which were all explicitly accepted by the cluster administrator.';
  test.each([
    { parts: ['', ''], exposed: undefined, want: '' },
    { parts: ['unverified', 'gone past'], exposed: undefined, want: 'unverified\ngone past' },
    { parts: [''], exposed: { image: 'i', names: ['A', 'B'] }, want: `The target release i is ${names}` },
    { parts: ['unverified'], exposed: { image: 'i', names: ['A', 'B'] }, want: `unverified; It is ${names}` },
    { parts: ['unverified'], exposed: { image: 'i', names: [] }, want: 'unverified' },
  ])('"$want"', ({ parts, exposed, want }) => expect(acceptedRisksOf(parts, exposed)).toBe(want));
});

test('an architecture that no update offers is none that the cluster ran before', () => {
  const desired = { version: '4.20.7', image: 'r@sha256:7' };
  const object = clusterVersion({
    spec: { desiredUpdate: { architecture: 'Multi', version: '4.20.7' } },
    status: { desired, history: [entry('4.20.7', 'Completed')] },
  });
  const { message = '' } = unfoundUpdate(object, undefined) ?? {};
  expect(message).toContain('no available update has architecture "Multi"');
  expect(message).not.toContain('ran before');
});
