import { describe, expect, test } from 'vitest';
import { buildClusterGroupUpgrade } from '../../testing/index.ts';
import { awaitsStatusUntil, isTakenOut, takenUpValue, wasMadeAgain } from './returning.ts';

const CREATED = '2026-01-01T00:00:00Z';
const condition = (type: string, reason: string) => ({ type, status: 'False', reason, message: '', lastTransitionTime: CREATED });
const taken = buildClusterGroupUpgrade();
const labels = { 'flotilla.io/taken-up': takenUpValue(taken) };
const copy = (metadata: object, status?: object) => {
  const built = buildClusterGroupUpgrade();
  return { ...built, metadata: { ...built.metadata, labels, ...metadata }, status: status as never };
};

describe('an upgrade was made again', () => {
  test.each([
    { name: 'with the mark of the object that was', upgrade: copy({ uid: 'another' }), want: true },
    { name: 'not when the mark is its own', upgrade: copy({}), want: false },
    { name: 'not without a mark, as an older hub leaves it', upgrade: copy({ uid: 'another', labels: {} }), want: false },
    { name: 'not when its mark was copied with another name', upgrade: copy({ uid: 'another', name: 'other' }), want: false },
  ])('$name', ({ upgrade, want }) => expect(wasMadeAgain(upgrade)).toBe(want));
});

describe('its status is waited for', () => {
  const until = Date.parse(CREATED) + 30 * 60_000;
  test.each([
    { name: 'for half an hour', status: undefined, want: until },
    {
      name: 'also when the status says that it waits',
      status: { status: {}, conditions: [condition('ClustersSelected', 'WaitingForMembers')] },
      want: until,
    },
    { name: 'until it is there', status: { status: {}, conditions: [condition('Progressing', 'NotEnabled')] }, want: undefined },
  ])('$name', ({ status, want }) => expect(awaitsStatusUntil(copy({ creationTimestamp: CREATED }, status))).toBe(want));
});

describe('a cluster is taken out', () => {
  test.each([
    { name: 'when the list of clusters has it no more', spec: { clusters: ['a'] }, want: true },
    { name: 'not while the list has it', spec: { clusters: ['a', 'b'] }, want: false },
    { name: 'not where labels select, too', spec: { clusters: ['a'], clusterLabelSelectors: [{ matchLabels: { x: '' } }] }, want: false },
    { name: 'not without a list', spec: {}, want: false },
  ])('$name', ({ spec, want }) => expect(isTakenOut(spec, 'b')).toBe(want));
});
