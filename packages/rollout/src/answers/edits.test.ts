/** Answers about an upgrade whose spec was edited after what its status is about. */
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import type { Seen } from './facts.ts';
import { answerStatus } from './status-answer.ts';
import { answerWhy, Inquiry } from './why.ts';

const at = '2026-11-25T11:00:00Z';
const now = Date.parse('2026-11-25T12:00:00Z');
const is = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: `${reason} of it.`,
  lastTransitionTime: at,
});
const IGNORED = is('EditsIgnored', 'True', 'EditsIgnored');
const SUCCESS = is('Succeeded', 'True', 'Completed');
const ENDED = { clusters: [{ name: 'a', state: 'complete' }], status: { completedAt: at }, conditions: [SUCCESS] };
const EDITED_LATE = { ...ENDED, observedGeneration: 2, conditions: [IGNORED, SUCCESS] };
const CACHED = {
  precaching: { spec: {}, status: { a: 'Succeeded' } },
  status: {},
  conditions: [is('Validated', 'True', 'ValidationCompleted')],
};

const skip = <T>(): Seen<T> => ({ kind: 'skipped' });
const factsOf = (status: object | undefined, clusters = ['a'], metadata = {}) => ({
  upgrade: ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns', generation: 2, ...metadata },
    spec: { clusters, remediationStrategy: { maxConcurrency: 1 } },
    ...(status && { status }),
  }),
  now,
  hub: skip<never>(),
  cluster: skip,
  agentLease: skip,
  upgradeAt: skip,
  policyCopy: skip,
  policy: skip,
  approvals: skip,
  work: skip,
});

const UNPROCESSED = {
  state: 'unprocessed',
  says: 'no hub has processed generation 2 of the spec yet; the status is about generation 1',
};
test.each([
  { name: 'that no hub has processed', status: { ...CACHED, observedGeneration: 1 }, want: UNPROCESSED },
  { name: 'that no hub has processed after the end', status: { ...EDITED_LATE, observedGeneration: 1 }, want: UNPROCESSED },
  { name: 'that came too late', status: EDITED_LATE, want: { state: 'ignored', says: 'EditsIgnored of it.' } },
  { name: 'that counts', status: { ...CACHED, observedGeneration: 2 }, want: undefined },
  { name: 'under a strict hub, which states no generation', status: CACHED, want: undefined },
  { name: 'before a hub has looked', status: { observedGeneration: -1, status: {} }, want: undefined },
  { name: 'before there is a status', status: undefined, want: undefined },
])('a status answers of an edit $name', ({ status, want }) => {
  expect(answerStatus(factsOf(status)).edits).toEqual(want);
});

test('a deletion is no edit', () => {
  expect(answerStatus(factsOf({ ...CACHED, observedGeneration: 1 }, ['a'], { deletionTimestamp: at })).edits).toBeUndefined();
});

const whyOf = (status: object, cluster?: string) => {
  const facts = factsOf(status, ['a', 'late']);
  return answerWhy(new Inquiry(facts), facts.upgrade, cluster, []);
};

test('an upgrade that was edited after its end has ended well, but without the edit', () => {
  expect(whyOf(EDITED_LATE)).toMatchObject({
    cause: 'refused',
    chain: [{ says: 'the upgrade has ended well, but without the edits of its spec: EditsIgnored of it.', value: 'True EditsIgnored' }],
    release: { says: 'Put them back as they were, or create another upgrade with them.', byItself: false },
  });
  expect(whyOf({ ...EDITED_LATE, observedGeneration: 1 })).toMatchObject({
    cause: 'not-planned',
    chain: [
      {
        field: 'status.observedGeneration',
        value: '1',
        says: `the upgrade has ended well, before its spec was edited: ${UNPROCESSED.says}`,
      },
    ],
    release: { byItself: true },
  });
});

test('a cluster that was added after the end is not done, one that was there is', () => {
  expect(whyOf(EDITED_LATE, 'late').cause).toBe('refused');
  expect(whyOf(EDITED_LATE, 'a').cause).toBe('done');
});

test('a part that failed stays the cause', () => {
  const status = { ...EDITED_LATE, conditions: [IGNORED, is('Succeeded', 'False', 'PartiallyDone')] };
  expect(whyOf(status).cause).toBe('failed');
});
