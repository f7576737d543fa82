import { ManualClock } from '@flotilla/pace/testing';
import { systemClock } from '@flotilla/runtime';
import { describe, expect, it, test } from 'vitest';
import { definedKinds } from './kinds.ts';
import { Wakeups } from './wakeups.ts';

describe('what is woken', () => {
  it('hears what happens between listening and waiting', async () => {
    const wakeups = new Wakeups(new ManualClock());
    using listening = wakeups.listen(['a', 'b']);
    expect(listening.isWoken).toBe(false);
    wakeups.wake('b');
    await listening.after(1e9, new AbortController().signal);
    expect(listening.isWoken).toBe(true);
  });

  it('hears nothing of other keys, and ends with its time', async () => {
    const wakeups = new Wakeups(systemClock);
    using listening = wakeups.listen(['a']);
    wakeups.wake('b');
    await listening.after(1, new AbortController().signal);
    expect(listening.isWoken).toBe(false);
  });

  it('ends with its signal', async () => {
    const wakeups = new Wakeups(new ManualClock());
    using listening = wakeups.listen(['a']);
    await listening.after(1e9, AbortSignal.abort());
    expect(listening.isWoken).toBe(false);
  });
});

test('a definition serves its kinds once it is established', () => {
  const definition = (status: string) => ({
    spec: {
      group: 'g',
      scope: 'Namespaced',
      names: { kind: 'Boat', plural: 'boats' },
      versions: [
        { name: 'v1', served: true },
        { name: 'v0', served: false },
      ],
    },
    status: { conditions: [{ type: 'Established', status }] },
  });
  expect([...definedKinds(definition('False'))]).toEqual([]);
  expect([...definedKinds({ spec: 'nonsense' })]).toEqual([]);
  const kinds = definedKinds(definition('True'));
  expect([...kinds.keys()]).toEqual(['g/v1/Boat']);
  expect(kinds.get('g/v1/Boat')).toMatchObject({ apiVersion: 'g/v1', plural: 'boats', namespaced: true });
});
