import { ManualClock } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { ownDoor } from './door.ts';
import type { Viewer } from './viewer.ts';

const viewer = {} as Viewer;

/** A door, and the codes that it told. */
function openDoor() {
  const clock = new ManualClock();
  const told: string[] = [];
  const door = ownDoor(viewer, { clock, tell: (code) => void told.push(code) });
  door.offer();
  return { clock, told, door, last: () => told.at(-1) ?? '' };
}

const USED = expect.objectContaining({ code: 'FLOTILLA_CONSOLE_LOGIN' });

test('a code is good once, and lets nobody in by itself', async () => {
  const { door, last } = openDoor();
  const code = last();
  await expect(door.enter({ authorization: `Bearer ${code}` })).rejects.toEqual(USED);
  const token = door.exchange(code);
  expect(token).not.toBe(code);
  expect(await door.enter({ authorization: `Bearer ${token}` })).toBe(viewer);
  expect(() => door.exchange(code)).toThrow(USED);
});

test('a code is good for a minute', async () => {
  const { clock, door, last } = openDoor();
  await clock.advance(59_000);
  expect(() => door.exchange('x'.repeat(43))).toThrow(USED);
  await clock.advance(1_000);
  expect(() => door.exchange(last())).toThrow(USED);
});

test('another one is told when somebody asks and none is good', async () => {
  const { clock, told, door, last } = openDoor();
  door.offer();
  expect(told).toHaveLength(1);
  door.exchange(last());
  door.offer();
  await clock.advance(60_000);
  door.offer();
  expect(new Set(told).size).toBe(3);
  expect(door.exchange(last())).toMatch(/^[\w-]{43}$/);
});
