import { ManualClock } from '@flotilla/pace/testing';
import { systemClock } from '@flotilla/runtime';
import { describe, expect, it, test } from 'vitest';
import { definedKinds } from './kinds.ts';
import { RequestBudget } from './request-budget.ts';
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

describe('a budget of requests', () => {
  const held = () => Promise.withResolvers<void>();

  it('lets so many run at once, in order, and the next when one ends', async () => {
    const budget = new RequestBudget(2);
    const gates = [held(), held(), held()];
    const begun: number[] = [];
    const all = gates.map(({ promise }, index) =>
      budget.run(async () => {
        begun.push(index);
        await promise;
      }),
    );
    expect(begun).toEqual([0, 1]);
    gates[1]?.resolve();
    await all[1];
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of gates) resolve();
    await Promise.all(all);
  });

  it('lets more run when it grows, and goes on after an error', async () => {
    const budget = new RequestBudget(1);
    const gate = held();
    const begun: string[] = [];
    const run = (name: string, work: Promise<void>) =>
      budget.run(() => {
        begun.push(name);
        return work;
      });
    const [first, second] = [run('a', gate.promise), run('b', Promise.resolve())];
    expect(begun).toEqual(['a']);
    budget.limit = 2;
    await second;
    expect(begun).toEqual(['a', 'b']);
    gate.reject(new Error('refused'));
    await expect(first).rejects.toThrow('refused');
    await run('c', Promise.resolve());
    expect(begun).toEqual(['a', 'b', 'c']);
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
