import { Annotation } from '@flotilla/api';
import { expect, test } from 'vitest';
import { waitMessage } from '../waits/wait.ts';
import { findClosedHours, firstCommonHour } from './cluster-hours.ts';

const at = (time: string) => Date.parse(time);
const clusterWith = (annotations: Record<string, string>) => ({ metadata: { name: 'site', annotations } });
const hours = (schedule: string, duration = '4h', timezone = 'UTC') => ({
  [Annotation.windowSchedule]: schedule,
  [Annotation.windowDuration]: duration,
  [Annotation.windowTimezone]: timezone,
});
const NOON = at('2026-11-28T12:00:00Z');

test('a cluster without hours of its own may always begin, and so may one that is not known', () => {
  expect(findClosedHours(undefined, NOON)).toBeUndefined();
  expect(findClosedHours(clusterWith({ [Annotation.hold]: '' }), NOON)).toBeUndefined();
});

test('outside its hours it says when they begin, in their zone, and where they are written', () => {
  const site = clusterWith(hours('0 22 * * *', '4h', 'Europe/Berlin'));
  const wait = findClosedHours(site, NOON);
  expect(wait).toMatchObject({ cause: 'cluster-hours', until: at('2026-11-28T21:00:00Z') });
  expect(wait && waitMessage(wait)).toBe(
    'waits (cluster-hours) until 2026-11-28T21:00:00Z at the latest: Waiting for the window of ManagedCluster site, which opens next at 2026-11-28T22:00:00+01:00 by 0 22 * * * (annotation flotilla.io/window-schedule); seen: ManagedCluster site, metadata.annotations[flotilla.io/window-schedule]: 0 22 * * *',
  );
  expect(findClosedHours(site, at('2026-11-28T21:00:00Z'))).toBeUndefined();
  expect(findClosedHours(site, at('2026-11-29T01:00:00Z'))).toMatchObject({ until: at('2026-11-29T21:00:00Z') });
});

test.each([
  [
    'a start that is to come',
    { [Annotation.windowStart]: '2026-12-01T00:00:00Z' },
    /^Waiting for the window of ManagedCluster site, /,
    undefined,
  ],
  [
    'an end that is past',
    { [Annotation.windowEnd]: '2026-11-01T00:00:00Z' },
    /^The window of ManagedCluster site ended /,
    /^move or remove the annot/,
  ],
  [
    'hours that never come',
    { ...hours('0 22 * * *'), [Annotation.windowEnd]: '2026-11-28T13:00:00Z' },
    /^No window of .* opens before/,
    /^move/,
  ],
  [
    'a schedule that never opens',
    hours('0 0 30 2 *'),
    /flotilla.io\/window-schedule is "0 0 30 2 \*", which never opens/,
    /^correct or remove/,
  ],
  [
    'a schedule without a duration',
    { [Annotation.windowSchedule]: '0 22 * * *' },
    /stands without flotilla.io\/window-duration/,
    /^correct/,
  ],
  ['a duration alone', { [Annotation.windowDuration]: '4h' }, /stands without flotilla.io\/window-schedule/, /^correct/],
  [
    'a misspelt annotation',
    { 'flotilla.io/window-begin': '2026-12-01T00:00:00Z' },
    /flotilla.io\/window-begin on ManagedCluster site is not known; did you mean/,
    /^correct/,
  ],
  ['an empty schedule', hours(''), /not five cron fields/, /^correct/],
  ['no zone', hours('0 22 * * *', '4h', 'Mars'), /no time zone/, /^correct/],
] as const)('%s lets it not begin, with the fix', (_, annotations, says, fix) => {
  const wait = findClosedHours(clusterWith(annotations), NOON);
  expect(wait?.says).toMatch(says);
  expect(wait?.fix ?? '').toMatch(fix ?? /^$/);
});

const upgradeWith = (annotations: Record<string, string>) => ({ metadata: { name: 'u', namespace: 'ran', annotations } });

test.each([
  ['no hours of its own', upgradeWith(hours('0 22 * * *')), clusterWith({}), NOON],
  ['hours within the window', upgradeWith(hours('0 20 * * *', '8h')), clusterWith(hours('0 22 * * *')), at('2026-11-28T22:00:00Z')],
  ['a window within the hours', upgradeWith(hours('0 23 * * *', '1h')), clusterWith(hours('0 22 * * *')), at('2026-11-28T23:00:00Z')],
  ['a night of both in a week', upgradeWith(hours('0 22 * * *')), clusterWith(hours('0 22 * * 3')), at('2026-12-02T22:00:00Z')],
  ['never together', upgradeWith(hours('0 22 * * *', '2h')), clusterWith(hours('0 8 * * *', '2h')), undefined],
  [
    'a window that is over before the hours come',
    upgradeWith({ [Annotation.windowEnd]: '2026-11-28T20:00:00Z' }),
    clusterWith(hours('0 22 * * *')),
    undefined,
  ],
  ['hours that cannot be read', upgradeWith({}), clusterWith(hours('nightly')), undefined],
])('the first common hour with %s', (_, upgrade, cluster, want) => {
  expect(firstCommonHour(upgrade, cluster, NOON)).toBe(want);
});
