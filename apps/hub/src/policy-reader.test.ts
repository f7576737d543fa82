import { Policy } from '@flotilla/api/ocm';
import type { Change } from '@flotilla/runtime';
import { beforeEach, expect, test } from 'vitest';
import { createPolicyReader, type PolicyReader } from './policy-reader.ts';

const called: string[] = [];
/** Tells the reader of a policy that changes. */
let hear: (change: Change<Policy>) => void;
/** Clock of a machine on which each piece takes 15 ms. */
let now: number;
let reader: PolicyReader;

beforeEach(() => {
  called.length = 0;
  now = 0;
  reader = createPolicyReader({
    policies: {
      subscribe: (listener) => {
        hear = listener;
        return () => {};
      },
    },
    onRead: (waiter) => void called.push(waiter),
    now: () => (now += 15),
  });
});

const template = (raw: string) => ({ objectDefinition: { metadata: {}, spec: { 'object-templates-raw': raw } } });
const ENTRY = '- objectDefinition: {kind: A}\n';
function policy(name: string, templates: number, { generation = 1, status = {} } = {}): Policy {
  const spec = { 'policy-templates': Array.from({ length: templates }, () => template(ENTRY)) };
  return Policy.schema.parse({ metadata: { name, namespace: 'ns', uid: `uid-${name}`, generation }, spec, status });
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
async function turnsUntilTold(waiter: string): Promise<number> {
  for (let turns = 1; turns < 100; turns++) {
    await turn();
    if (called.includes(waiter)) return turns;
  }
  throw new Error(`${waiter} was never called`);
}

test('a small policy is read at once', () => {
  expect(reader.read(policy('small', 1), 'a')?.objects).toHaveLength(1);
  expect(called).toEqual([]);
});

test('the event loop turns while a large policy is read, and each waiter is called at the end', async () => {
  const large = policy('large', 20);
  expect(reader.read(large, 'a')).toBeUndefined();
  expect(reader.read(large, 'b')).toBeUndefined();
  expect(await turnsUntilTold('a')).toBeGreaterThan(5);
  expect(called).toEqual(['a', 'b']);
  expect(reader.read(large, 'a')?.objects).toHaveLength(20);
});

test('a change of status reads nothing again, a new generation does', async () => {
  reader.read(policy('p', 20), 'a');
  await turnsUntilTold('a');
  const first = reader.read(policy('p', 20), 'a');
  const before = now;
  expect(reader.read(policy('p', 20, { status: { compliant: 'Compliant' } }), 'a')).toBe(first);
  expect(now).toBe(before);
  const edited = policy('p', 2, { generation: 2 });
  if (!reader.read(edited, 'b')) await turnsUntilTold('b');
  expect(reader.read(edited, 'b')?.objects).toHaveLength(2);
});

test('a waiter of a policy that is edited meanwhile is called when the edited one is read', async () => {
  expect(reader.read(policy('p', 20), 'a')).toBeUndefined();
  const edited = policy('p', 30, { generation: 2 });
  expect(reader.read(edited, 'b')).toBeUndefined();
  await turnsUntilTold('b');
  expect(called).toEqual(['a', 'b']);
  expect(reader.read(edited, 'a')?.objects).toHaveLength(30);
});

test('a large policy keeps nobody with a small one waiting', async () => {
  reader.read(policy('large', 60), 'a');
  reader.read(policy('small', 1), 'b');
  await turnsUntilTold('b');
  expect(called).toEqual(['b']);
});

test('a policy that is made anew under its name is another, and the one before is forgotten', async () => {
  const first = policy('p', 20);
  reader.read(first, 'first');
  await turnsUntilTold('first');
  const other = policy('p', 2);
  other.metadata.uid = 'other';
  reader.read(other, 'other');
  await turn();
  expect(reader.read(first, 'again')).toBeUndefined();
  const read = () => reader.read(other, 'a')?.objects;
  expect(read() ?? turnsUntilTold('a').then(read)).toBeDefined();
});

test('a policy that is gone is forgotten, and one that goes while it is read is read no further', async () => {
  const read = policy('read', 20);
  reader.read(read, 'first');
  await turnsUntilTold('first');
  hear({ type: 'deleted', object: read });
  const underWay = policy('under-way', 20);
  expect(reader.read(underWay, 'never')).toBeUndefined();
  hear({ type: 'deleted', object: underWay });
  expect(reader.read(read, 'again')).toBeUndefined();
  await turnsUntilTold('again');
  expect(called).not.toContain('never');
});
