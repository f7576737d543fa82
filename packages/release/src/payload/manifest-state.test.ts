import { expect, test } from 'vitest';
import {
  advancePayloadWork,
  type ManifestLook,
  ManifestState,
  type PayloadWorkEvent,
  type PayloadWorkState,
  stateOfManifest,
} from './manifest-state.ts';

const look: ManifestLook = { intent: 'apply', isServed: true, object: 'same', verdict: 'ready', deletes: false };

test.each<{ name: string; seen: Partial<ManifestLook>; state: ManifestState }>([
  { name: 'is done when its object is as it should be', seen: {}, state: 'done' },
  { name: 'is done when something is only reported', seen: { verdict: 'reported' }, state: 'done' },
  { name: 'waits for its kind', seen: { isServed: false, object: 'absent' }, state: 'unserved' },
  { name: 'is created', seen: { object: 'absent' }, state: 'missing' },
  { name: 'is read when nobody has compared it', seen: { object: 'unread' }, state: 'unread' },
  { name: 'is written before it is waited for', seen: { object: 'different', verdict: 'failed' }, state: 'drifted' },
  { name: 'waits for its object', seen: { verdict: 'waiting' }, state: 'settling' },
  { name: 'fails, and is looked at again', seen: { verdict: 'failed' }, state: 'failing' },
  { name: 'waits for an object that is on its way out', seen: { object: 'ending', verdict: 'waiting' }, state: 'settling' },
  {
    name: 'only created is left alone, whatever became of it',
    seen: { intent: 'create-only', object: 'different', verdict: 'failed' },
    state: 'done',
  },
  { name: 'only created is created', seen: { intent: 'create-only', object: 'absent' }, state: 'missing' },
  { name: 'only created waits for its kind', seen: { intent: 'create-only', isServed: false }, state: 'unserved' },
  { name: 'unwanted is done where it is not', seen: { intent: 'delete', object: 'absent', deletes: true }, state: 'done' },
  { name: 'unwanted is done where its kind is not', seen: { intent: 'delete', isServed: false, deletes: true }, state: 'done' },
  { name: 'unwanted is deleted by an update', seen: { intent: 'delete', deletes: true }, state: 'unwanted' },
  { name: 'unwanted is left where nobody updates', seen: { intent: 'delete' }, state: 'done' },
  { name: 'unwanted is done once it is on its way out', seen: { intent: 'delete', object: 'ending', deletes: true }, state: 'done' },
])('a manifest $name', ({ seen, state }) => {
  expect(stateOfManifest({ ...look, ...seen })).toBe(state);
});

test.each<{ from: PayloadWorkState; event: PayloadWorkEvent; to: PayloadWorkState }>([
  { from: 'idle', event: 'INSTALL', to: 'initializing' },
  { from: 'idle', event: 'UPDATE', to: 'updating' },
  { from: 'idle', event: 'RECONCILE', to: 'reconciling' },
  { from: 'initializing', event: 'CHANGED', to: 'initializing' },
  { from: 'initializing', event: 'COMPLETED', to: 'reconciling' },
  { from: 'updating', event: 'CHANGED', to: 'updating' },
  { from: 'updating', event: 'COMPLETED', to: 'reconciling' },
  { from: 'reconciling', event: 'CHANGED', to: 'updating' },
  { from: 'reconciling', event: 'COMPLETED', to: 'reconciling' },
  { from: 'idle', event: 'COMPLETED', to: 'idle' },
])('the work: $from and $event is $to', ({ from, event, to }) => {
  expect(advancePayloadWork(from, event)).toBe(to);
});

test('every state of a manifest follows from some look', () => {
  const looks = (['apply', 'create-only', 'delete'] as const).flatMap((intent) =>
    [true, false].flatMap((isServed) =>
      (['absent', 'unread', 'unproven', 'different', 'same', 'ending'] as const).flatMap((object) =>
        (['ready', 'reported', 'waiting', 'failed'] as const).flatMap((verdict) =>
          [true, false].map((deletes) => ({ intent, isServed, object, verdict, deletes })),
        ),
      ),
    ),
  );
  expect(new Set(looks.map(stateOfManifest))).toEqual(new Set(Object.values(ManifestState)));
});
