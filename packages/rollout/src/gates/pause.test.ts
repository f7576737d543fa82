import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { batchGatesOf } from './gates.ts';
import { findHold, findPause } from './pause.ts';

const annotated = (annotations: Readonly<Partial<Record<string, string>>>) =>
  ClusterGroupUpgrade.schema.parse({ metadata: { name: 'a', annotations } });

test.each([
  { name: 'nothing', given: {}, want: undefined },
  { name: 'a drain', given: { 'flotilla.io/paused': 'drain' }, want: 'Paused Paused; remove the annotation flotilla.io/paused to go on' },
  {
    name: 'a drain with its reason',
    given: { 'flotilla.io/paused': 'drain', 'flotilla.io/paused-reason': ' change freeze ' },
    want: 'Paused Paused: change freeze; remove the annotation flotilla.io/paused to go on',
  },
  {
    name: 'a stop',
    given: { 'flotilla.io/paused': 'stop', 'flotilla.io/paused-reason': 'link is needed' },
    want: 'Paused Paused, and pulls are stopped: link is needed; remove the annotation flotilla.io/paused to go on',
  },
  { name: 'a reason alone', given: { 'flotilla.io/paused-reason': 'change freeze' }, want: undefined },
  {
    name: 'a value that is not known',
    given: { 'flotilla.io/paused': 'true' },
    want: 'InvalidPause Annotation flotilla.io/paused is "true", which is not known; write "drain" or "stop", or remove the annotation to go on',
  },
])('a pause is read from $name', ({ given, want }) => {
  const pause = findPause(annotated(given));
  expect(pause && `${pause.reason} ${pause.message}`).toBe(want);
});

test('why it is paused is said without what ends it', () => {
  const why = (value: string, reason?: string) =>
    findPause(annotated({ 'flotilla.io/paused': value, ...(reason !== undefined && { 'flotilla.io/paused-reason': reason }) }))?.why;
  expect([why('drain', ' freeze '), why('drain', ' '), why('stop'), why('stop', 'link is needed'), why('on')]).toEqual([
    'freeze',
    'no reason is given',
    'pulls are stopped',
    'pulls are stopped: link is needed',
    'Annotation flotilla.io/paused is "on", which is not known',
  ]);
});

test('only a stop ends what runs', () => {
  const stops = (value: string) => findPause(annotated({ 'flotilla.io/paused': value }))?.stops;
  expect([stops('drain'), stops('stop'), stops('Stop')]).toEqual([false, true, false]);
});

test('the reference knows no pause', () => {
  const paused = annotated({ 'flotilla.io/paused': 'drain' });
  expect(batchGatesOf(paused, { now: 0, talmStrict: true }).pause).toBeUndefined();
  expect(batchGatesOf(paused, { now: 0, talmStrict: false }).pause).toMatchObject({ reason: 'Paused' });
});

test.each([
  { name: 'without the annotation', given: {}, want: undefined },
  { name: 'with a reason', given: { 'flotilla.io/hold': 'disk is being replaced' }, want: 'held: disk is being replaced' },
  { name: 'without a reason', given: { 'flotilla.io/hold': '' }, want: 'held' },
])('a hold is read $name', ({ given, want }) => {
  const of = { object: 'ManagedCluster a', field: 'metadata.annotations[flotilla.io/hold]', value: given['flotilla.io/hold'] ?? '' };
  const fix = 'remove the annotation flotilla.io/hold from ManagedCluster a (flotilla unhold a)';
  expect(findHold(annotated(given))).toEqual(want === undefined ? undefined : { cause: 'held', says: want, fix, of });
  expect(findHold(undefined)).toBeUndefined();
});
