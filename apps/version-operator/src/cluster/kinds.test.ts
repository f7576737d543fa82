import { resource } from '@flotilla/api';
import { ManualClock } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { Kinds } from './kinds.ts';
import { LiveObject } from './live-object.ts';
import { Wakeups } from './wakeups.ts';

const BOAT = 'test.flotilla.io/v1/Boat';
const served = new Map([[BOAT, resource('test.flotilla.io/v1', 'Boat', 'boats', true, LiveObject)]]);

test.each([
  { name: 'for two seconds, of a kind that has just come to be served', tells: [new Map(), served], afterMs: 1_999, is: true },
  { name: 'no longer than that', tells: [new Map(), served], afterMs: 2_000, is: false },
  { name: 'not anew when its definition changes', tells: [new Map(), served, served], afterMs: 2_000, is: false },
  { name: 'of no kind that was served before anybody looked', tells: [served], afterMs: 0, is: false },
  { name: 'of no kind that is not served', tells: [new Map()], afterMs: 0, is: false },
])('a POST is held back $name', async ({ tells, afterMs, is }) => {
  const clock = new ManualClock();
  const kinds = new Kinds({} as Client, new Wakeups(clock), clock);
  for (const tell of tells) {
    kinds.define('boats', tell);
    await clock.advance(tell === tells.at(1) ? afterMs : 0);
  }
  expect(kinds.isHeldBack(BOAT)).toBe(is);
});
