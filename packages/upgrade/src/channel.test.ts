import { mergePatched } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import { CHANNEL_ANNOTATION } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { buildVersion } from '../testing/upgrade-builders.ts';
import { channelChange, channelKept, channelReturn } from './channel.ts';

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
