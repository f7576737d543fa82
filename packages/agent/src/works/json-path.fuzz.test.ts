import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { ServerRefusal } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { parseJsonPath, valuesAt } from './json-path.ts';

const path = (random: RandomValues): string =>
  random
    .list(12, () =>
      random.pick([
        '.a',
        "['a.b']",
        '[0]',
        '[-1]',
        '[*]',
        '.*',
        '[?(@.type=="Ready")]',
        '[?(@.a<',
        ')]',
        '{',
        '}',
        '$',
        '..',
        random.text(6),
      ]),
    )
    .join('');

const target = defineTarget('JSONPaths', {
  make: (random) => ({ text: random.chance(0.2) ? random.text(300) : path(random), root: random.json(5) }),
  run: ({ text, root }) => {
    try {
      expect(valuesAt(parseJsonPath(text), root).length).toBeLessThan(1_000_000);
    } catch (error) {
      if (!(error instanceof ServerRefusal) || error.message === '') throw error;
    }
  },
});

test('JSONPaths', async () => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
