import { mergePatched } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import { CHANNEL_ANNOTATION } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { buildSpec, buildVersion } from '../testing/upgrade-builders.ts';
import {
  channelChange,
  channelKept,
  channelReturn,
  commencement,
  currentVersion,
  hasCompleted,
  isCommenced,
  isUnderChange,
  precedingVersion,
  startedAt,
  targetOf,
  upgradeObstacle,
} from './cluster-version.ts';

const image = 'r/12';
const byVersion = { kind: 'version', version: '4.14.12', channel: 'stable-4.14' } as const;
const byImage = { kind: 'image', image, version: '4.14.12' } as const;

test.each([
  { name: 'an image before a version', desired: { image, version: '4.14.12', channel: 'c' }, want: byImage },
  { name: 'a version with its channel', desired: { version: '4.14.12', channel: 'stable-4.14' }, want: byVersion },
  { name: 'a version alone: nothing', desired: { version: '4.14.12' }, want: undefined },
  { name: 'a channel alone: nothing', desired: { channel: 'c' }, want: undefined },
])('an UpgradeConfig asks for $name', ({ desired, want }) => expect(targetOf(buildSpec({ desired }))).toEqual(want));

test.each([
  { name: 'nothing is asked of the cluster', spec: {}, target: byVersion, want: false },
  { name: 'the version is', spec: { desiredUpdate: { version: '4.14.12' } }, target: byVersion, want: true },
  { name: 'another version is', spec: { desiredUpdate: { version: '4.14.13' } }, target: byVersion, want: false },
  { name: 'the image is', spec: { desiredUpdate: { image } }, target: byImage, want: true },
  { name: 'the version is, the target is an image', spec: { desiredUpdate: { version: '4.14.12' } }, target: byImage, want: false },
])('commenced while $name: $want', ({ spec, target, want }) => expect(isCommenced(buildVersion(spec), target)).toBe(want));

test('the version is the one that was completed last', () => {
  const history = [
    { state: 'Partial', version: '4.14.12', image },
    { state: 'Completed', version: '4.14.8', image: 'r/8', completionTime: '2026-01-01T00:00:00Z' },
    { state: 'Completed', version: '4.14.9', image: 'r/9', completionTime: '2026-01-02T00:00:00Z' },
  ];
  expect(currentVersion(buildVersion({}, { history }))).toBe('4.14.9');
  expect(hasCompleted(buildVersion({}, { history }), '4.14.12')).toBe(false);
});

const entryOf = (version: string, startedTime: string, state = 'Completed') => ({ state, version, image: `r/${version}`, startedTime });
const rolledBack = [
  entryOf('4.14.9', '2026-01-03T00:00:00Z'),
  entryOf('4.14.12', '2026-01-02T00:00:00Z'),
  entryOf('4.14.9', '2026-01-01T00:00:00Z'),
];
test.each([
  { name: 'it was rolled back from the version', history: rolledBack, completed: false, started: undefined },
  {
    name: 'it tries the version again',
    history: [entryOf('4.14.12', '2026-01-04T00:00:00Z', 'Partial'), ...rolledBack],
    completed: false,
    started: '2026-01-04T00:00:00Z',
  },
  {
    name: 'it has the version again',
    history: [entryOf('4.14.12', '2026-01-04T00:00:00Z'), ...rolledBack],
    completed: true,
    started: '2026-01-04T00:00:00Z',
  },
])('what an earlier attempt has completed does not count: $name', ({ history, completed, started }) => {
  expect(hasCompleted(buildVersion({}, { history }), '4.14.12')).toBe(completed);
  expect(startedAt(buildVersion({}, { history }), '4.14.12')).toBe(started && Date.parse(started));
});

test.each([
  { name: 'the version it is at', version: '4.14.12', want: '4.14.9' },
  { name: 'the one before, when it is asked for the one it is at', version: '4.14.9', want: '4.14.8' },
])('precedes an upgrade: $name', ({ version, want }) => expect(precedingVersion(buildVersion(), version)).toBe(want));

test.each([
  { name: 'an available version', target: byVersion, want: { version: '4.14.12', image: null } },
  { name: 'a conditional version', target: { ...byVersion, version: '4.14.13' }, want: { version: '4.14.13', image: 'r/13' } },
  { name: 'an image', target: byImage, want: { image, version: null } },
])('the cluster is sent to $name', ({ target, want }) =>
  expect(commencement(buildVersion(), target)).toEqual({ spec: { desiredUpdate: want } }),
);
test.each([
  { name: 'a version', target: byVersion, left: { force: true }, want: { version: '4.14.12', image: null, force: null } },
  { name: 'an image', target: byImage, left: { force: true }, want: { image, version: null, force: null } },
  {
    name: 'an image, which names no architecture',
    target: byImage,
    left: { architecture: 'Multi' },
    want: { image, version: null, architecture: null },
  },
])('what an earlier hand forced does not stay: the cluster is sent to $name', ({ target, left, want }) =>
  expect(commencement(buildVersion({ desiredUpdate: { version: '4.14.1', ...left } }), target)).toEqual({ spec: { desiredUpdate: want } }),
);
test('the cluster is not sent where nobody offers to', () =>
  expect(commencement(buildVersion(), { ...byVersion, version: '4.14.20' })).toBeUndefined());

const notUpgradeable = buildVersion(
  {},
  { conditions: [{ type: 'Upgradeable', status: 'False', reason: 'AdminAck', message: 'ack first' }] },
);
test.each([
  { name: 'another minor version', clusterVersion: notUpgradeable, version: '4.15.1', want: true },
  { name: 'the same minor version', clusterVersion: notUpgradeable, version: '4.14.12', want: false },
  { name: 'a cluster that is upgradeable', clusterVersion: buildVersion(), version: '4.15.1', want: false },
])('$name is held up: $want', ({ clusterVersion, version, want }) => {
  const obstacle = upgradeObstacle(clusterVersion, version, '2026-02-01T12:00:00+02:00');
  expect(obstacle).toBe(
    want ? 'cluster upgrade to version 4.15.1 on Sun Feb  1 10:00:00 UTC 2026 has been cancelled: AdminAck: ack first' : undefined,
  );
});

test.each([
  { name: 'it is where it was sent', spec: { desiredUpdate: { version: '4.14.9' } }, want: false },
  { name: 'it was never sent anywhere', spec: {}, want: false },
  { name: 'it was sent a moment ago', spec: { desiredUpdate: { version: '4.14.12' } }, want: true },
  { name: 'it was sent to an image', spec: { desiredUpdate: { image: 'r/12' } }, want: true },
  { name: 'it has the image it was sent to', spec: { desiredUpdate: { image: 'r/9' } }, want: false },
  {
    name: 'it is on its way',
    spec: { desiredUpdate: { version: '4.14.12' } },
    status: { history: [{ state: 'Partial', version: '4.14.12', image }] },
    want: true,
  },
])('a cluster is under change while $name: $want', ({ spec, status = {}, want }) =>
  expect(isUnderChange(buildVersion(spec, status))).toBe(want),
);

const patched = (version: ClusterVersion, ...patches: (object | undefined)[]): ClusterVersion =>
  patches.reduce<ClusterVersion>((now, patch) => ClusterVersion.schema.parse(mergePatched(now, patch ?? {})), version);
const told = ({ metadata, spec }: ClusterVersion) => [spec.channel ?? null, metadata.annotations?.[CHANNEL_ANNOTATION]];

test.each([
  { name: 'comes back', change: ['stable-4.15'], want: ['stable-4.14', undefined] },
  { name: 'comes back from the second of two upgrades', change: ['stable-4.15', 'stable-4.16'], want: ['stable-4.14', undefined] },
  { name: 'comes back to none', from: null, change: ['stable-4.15'], want: [null, undefined] },
  { name: 'stays where somebody has put it since', change: ['stable-4.15'], hand: 'fast-4.15', want: ['fast-4.15', undefined] },
])('a channel that an upgrade has changed $name', ({ from = 'stable-4.14', change, hand, want }) => {
  const begin = patched(buildVersion(), { spec: { channel: from } });
  const changed = change.reduce((now, channel) => patched(now, channelChange(now, channel)), begin);
  expect(changed.spec.channel).toBe(change.at(-1));
  const now = hand === undefined ? changed : patched(changed, { spec: { channel: hand } });
  expect(told(patched(now, channelReturn(now)))).toEqual(want);
});

test('the second upgrade returns to the channel that somebody chose between two upgrades', () => {
  const first = patched(buildVersion(), channelChange(buildVersion(), 'stable-4.15'));
  const chosen = patched(first, { spec: { channel: 'fast-4.15' } });
  const second = patched(chosen, channelChange(chosen, 'stable-4.16'));
  expect(told(patched(second, channelReturn(second)))).toEqual(['fast-4.15', undefined]);
});

test('with the cluster sent, the channel stays, and nothing is remembered', () => {
  const changed = patched(buildVersion(), channelChange(buildVersion(), 'stable-4.15'));
  expect(told(patched(changed, channelKept(changed)))).toEqual(['stable-4.15', undefined]);
  expect(channelKept(buildVersion())).toEqual({});
  expect(channelReturn(buildVersion())).toBeUndefined();
});

const said = (status: string) => [{ type: 'Upgradeable', status, reason: 'AdminAck', message: 'ack first' }];
const AT = '2026-02-01T10:00:00Z';
const REFUSED = (version: string) =>
  `cluster upgrade to version ${version} on Sun Feb  1 10:00:00 UTC 2026 has been cancelled: AdminAck: ack first`;

test.each([
  { name: 'another minor version', version: '4.15.3', conditions: said('False'), want: REFUSED('4.15.3') },
  { name: 'a minor version further on', version: '4.16.0', conditions: said('False'), want: REFUSED('4.16.0') },
  { name: 'a candidate of another minor version', version: '4.15.0-rc.1', conditions: said('False'), want: REFUSED('4.15.0-rc.1') },
  { name: 'the same minor version', version: '4.14.12', conditions: said('False'), want: undefined },
  { name: 'an older minor version', version: '4.13.50', conditions: said('False'), want: undefined },
  { name: 'another minor version when operators let it go', version: '4.15.3', conditions: said('True'), want: undefined },
  { name: 'another minor version when they do not say', version: '4.15.3', conditions: said('Unknown'), want: undefined },
  { name: 'another minor version when nothing is said', version: '4.15.3', conditions: [], want: undefined },
])('$name: $want', ({ version, conditions, want }) => {
  expect(upgradeObstacle(buildVersion({}, { conditions }), version, AT)).toBe(want);
});

test('the moment is that of UTC, whatever zone it is written in', () => {
  expect(upgradeObstacle(buildVersion({}, { conditions: said('False') }), '4.15.3', '2026-02-01T12:00:00+02:00')).toBe(REFUSED('4.15.3'));
});
