import { ClusterVersionStatus } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { alertRisks } from './alert-risks.ts';
import { afterAttempt, type Retrieval, retrievalDueMs, storedRetrieval } from './retrieval.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const DAY = 24 * 3_600_000;
const found = { current: { version: '4.20.1', image: 'i' }, updates: [], conditional: [] };
const refusal = { reason: 'RemoteFailed', message: 'Unable to retrieve available updates: no route' };
const good: Retrieval = { key: 'k', attemptedAtMs: NOW, freshAtMs: NOW, updates: found };

test('updates are asked for at once where nothing is known or the question is another, else at a pace', () => {
  expect(retrievalDueMs(undefined, 'k', 1_000)).toBe(0);
  expect(retrievalDueMs(good, 'other', 1_000)).toBe(0);
  expect(retrievalDueMs(good, 'k', 1_000)).toBe(NOW + 1_000);
});

test.each([
  { name: 'within a day what was known stays', last: good, key: 'k', afterMs: DAY, known: true },
  { name: 'after a day it goes', last: good, key: 'k', afterMs: DAY + 1, known: false },
  { name: 'with another question it goes', last: good, key: 'other', afterMs: 1, known: false },
  { name: 'where nothing was known nothing is', last: undefined, key: 'k', afterMs: 0, known: false },
])('an attempt fails: $name', ({ last, key, afterMs, known }) => {
  const after = afterAttempt(last, { key, result: refusal, nowMs: NOW + afterMs });
  expect(after.updates).toBe(known ? found : undefined);
  expect(after).toMatchObject({ key, refusal, attemptedAtMs: NOW + afterMs });
});

test('a failure that goes on does not make what is known fresh', () => {
  const first = afterAttempt(good, { key: 'k', result: refusal, nowMs: NOW + DAY - 1 });
  expect(afterAttempt(first, { key: 'k', result: refusal, nowMs: NOW + DAY + 1 }).updates).toBeUndefined();
});

describe('after a start', () => {
  const status = (retrieved: 'True' | 'False', sinceMs: number, channels: string[] = ['stable-4.20']) =>
    ClusterVersionStatus.parse({
      desired: { version: '4.20.1', image: 'i' },
      availableUpdates: [{ version: '4.20.2', image: 'j', channels }],
      conditions: [
        { type: 'RetrievedUpdates', status: retrieved, reason: '', message: '', lastTransitionTime: new Date(sinceMs).toISOString() },
      ],
    });
  const after = (stored: ClusterVersionStatus | undefined, asked: { channel?: string; version?: string } = {}) => {
    const last = storedRetrieval('k', { status: stored, channel: 'stable-4.20', version: '4.20.1', nowMs: NOW, ...asked });
    return afterAttempt(last, { key: 'k', result: refusal, nowMs: NOW }).updates?.updates.map(({ version }) => version);
  };
  test.each([
    { name: 'what was known before is kept', stored: status('True', NOW - 10 * DAY), want: ['4.20.2'] },
    { name: 'what nobody has answered for hours is kept, too', stored: status('False', NOW - DAY / 2), want: ['4.20.2'] },
    { name: 'what nobody has answered for a day goes', stored: status('False', NOW - DAY - 1_000), want: undefined },
    { name: 'what another channel has offered goes', stored: status('True', NOW, ['fast-4.20']), want: undefined },
    { name: 'nothing was known', stored: undefined, want: undefined },
  ])('$name', ({ stored, want }) => expect(after(stored)).toEqual(want));

  test('what another release could be updated to goes', () => expect(after(status('True', NOW), { version: '4.20.2' })).toBeUndefined());

  test('the service is asked at once', () => {
    const last = storedRetrieval('k', { status: status('True', NOW), channel: 'stable-4.20', version: '4.20.1', nowMs: NOW });
    expect(retrievalDueMs(last, 'k', 1_000)).toBe(Number.NEGATIVE_INFINITY);
  });
});

test("after a start the cluster's own risks are no longer those of the graph", () => {
  const update = (version: string, ...risks: object[]) => ({ release: { version, image: version, channels: ['stable-4.20'] }, risks });
  const risk = (name: string, message = 'm') => ({ name, message, url: 'https://a', matchingRules: [{ type: 'Always' }] });
  const [alert] = alertRisks([{ state: 'firing', labels: { alertname: 'Hot', severity: 'critical' }, annotations: {} }]);
  const status = ClusterVersionStatus.parse({
    desired: { version: '4.20.1', image: 'i' },
    availableUpdates: null,
    conditionalUpdates: [
      update('4.20.2', risk('ClusterVersionUpdating')),
      update('4.20.3', risk('Fire'), risk('AdminAck-x'), risk('Hot', alert?.message)),
      update('4.20.4', risk('Hot', 'told by the graph')),
    ],
    conditions: [],
  });
  const known = storedRetrieval('k', { status, channel: 'stable-4.20', version: '4.20.1', nowMs: NOW })?.updates;
  expect(known?.updates.map(({ version }) => version)).toEqual(['4.20.2']);
  expect(known?.conditional.map(({ release, risks }) => [release.version, ...risks.map(({ name }) => name)])).toEqual([
    ['4.20.3', 'Fire'],
    ['4.20.4', 'Hot'],
  ]);
});

test('a good answer ends a failure', () => {
  const failed = afterAttempt(undefined, { key: 'k', result: refusal, nowMs: NOW });
  expect(afterAttempt(failed, { key: 'k', result: found, nowMs: NOW + 1 })).toEqual({
    key: 'k',
    attemptedAtMs: NOW + 1,
    freshAtMs: NOW + 1,
    updates: found,
  });
});
