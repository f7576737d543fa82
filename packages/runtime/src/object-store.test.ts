import type { KubeObject } from '@flotilla/api';
import { expect, test } from 'vitest';
import { ObjectStore } from './object-store.ts';

const object = (version: string, uid = 'a', parts: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  metadata: { name: 'x', namespace: 'n', uid, resourceVersion: version, ...parts },
});
const LEAVING = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const DELETED_AT = Date.parse('2026-01-01T00:00:00Z');
const HELD = { finalizers: ['example.com/hold'] };

type Act = (store: ObjectStore<KubeObject>) => unknown;
const seen =
  (...args: Parameters<typeof object>): Act =>
  (store) =>
    store.set(object(...args));
const wrote =
  (...args: Parameters<typeof object>): Act =>
  (store) =>
    store.wrote(object(...args));
const gone =
  (...args: Parameters<typeof object>): Act =>
  (store) =>
    store.delete(object(...args).metadata, object(...args));
const deleted =
  (uid = 'a'): Act =>
  (store) =>
    store.deleted({ name: 'x', namespace: 'n' }, uid, DELETED_AT);
const listed: Act = (store) => store.forgetWrites();

/** `shown`: version, or `leaving`, or nothing. */
const rows: { name: string; acts: Act[]; shown: string | undefined }[] = [
  { name: 'an own write is seen at once', acts: [seen('5'), wrote('7')], shown: '7' },
  { name: 'an event from before an own write does not undo it', acts: [seen('5'), wrote('7'), seen('6')], shown: '7' },
  { name: 'the event of an own write confirms it', acts: [seen('5'), wrote('7'), seen('7')], shown: '7' },
  { name: 'an event from after it counts', acts: [seen('5'), wrote('7'), seen('8')], shown: '8' },
  { name: 'an own write that the watch has passed already is old news', acts: [seen('8'), wrote('7')], shown: '8' },
  { name: 'an answer that was long under way does not undo that of a later write', acts: [wrote('7'), wrote('6')], shown: '7' },
  { name: 'an own creation is not undone by the end of what was there before', acts: [wrote('9', 'b'), gone('8', 'a')], shown: '9' },
  { name: 'what was created and then deleted by others is gone', acts: [wrote('9'), gone('10')], shown: undefined },
  { name: 'an own deletion is seen at once', acts: [seen('5'), deleted()], shown: undefined },
  { name: 'an event from before an own deletion does not bring it back', acts: [seen('5'), deleted(), seen('6')], shown: undefined },
  {
    name: 'what waits for a finalizer that came meanwhile is shown',
    acts: [seen('5'), deleted(), seen('6', 'a', LEAVING)],
    shown: 'leaving',
  },
  { name: 'what has finalizers is leaving', acts: [seen('5', 'a', HELD), deleted()], shown: 'leaving' },
  { name: 'an own deletion of another object of the name does nothing', acts: [seen('5', 'b'), deleted('a')], shown: '5' },
  { name: 'another object of the name is shown', acts: [seen('5'), deleted(), wrote('7', 'b')], shown: '7' },
  {
    name: 'the end of an earlier object says nothing of the later one that was deleted',
    acts: [seen('5'), wrote('8', 'b'), deleted('b'), gone('7', 'a'), seen('8', 'b')],
    shown: undefined,
  },
  { name: 'a deletion is forgotten with its event', acts: [seen('5'), deleted(), gone('6'), seen('7', 'b')], shown: '7' },
  { name: 'a full read counts, also that of a server that was set back', acts: [wrote('70'), listed, seen('5')], shown: '5' },
  { name: 'what is written while everything is read stays', acts: [seen('5'), listed, wrote('9'), seen('8')], shown: '9' },
  { name: 'versions that are no numbers go by the watch', acts: [seen('x'), wrote('y')], shown: 'x' },
];

test('what leaves does so since it was deleted', () => {
  const store = new ObjectStore<KubeObject>({}, () => {});
  for (const act of [seen('5', 'a', HELD), deleted()]) act(store);
  expect(store.get('n/x')?.metadata.deletionTimestamp).toBe('2026-01-01T00:00:00.000Z');
});

test.each(rows)('$name', ({ acts, shown }) => {
  const store = new ObjectStore<KubeObject>({ uid: ({ metadata }) => [metadata.uid ?? ''] }, () => {});
  for (const act of acts) act(store);
  const found = store.get('n/x');
  expect(found?.metadata.deletionTimestamp ? 'leaving' : found?.metadata.resourceVersion).toBe(shown);
  const indexed = ['a', 'b'].flatMap((uid) => store.byIndex('uid', uid));
  expect(indexed).toEqual(found ? [found] : []);
});

test('each change is told once', () => {
  const store = new ObjectStore<KubeObject>({}, () => {});
  const told = [wrote('7'), seen('6'), seen('7'), wrote('8'), deleted(), seen('8'), gone('9')].map(
    (act) => (act(store) as { type: string } | undefined)?.type,
  );
  expect(told).toEqual(['set', undefined, undefined, 'set', 'deleted', undefined, undefined]);
});

test('an object that was written during a full read, which does not have it, is kept if it is younger', () => {
  const store = new ObjectStore<KubeObject>({}, () => {});
  listed(store);
  wrote('9')(store);
  expect([store.isWritten('n/x', '8'), store.isWritten('n/x', '9'), store.isWritten('n/x', '12')]).toEqual([true, false, false]);
});
