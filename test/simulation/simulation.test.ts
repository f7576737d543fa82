import { describe, expect, test } from 'vitest';
import { play } from './core/play.ts';
import { randomStory } from './core/random-story.ts';
import { knownStories } from './known-stories.ts';

describe('a simulation', () => {
  test.each([1, 2, 3, 4, 5])('of seed %i is the same each time', async (seed) => {
    const story = randomStory(seed);
    const first = await play(story);
    expect(first.events).toBeGreaterThan(100);
    expect(await play(story)).toEqual(first);
  });

  test('leaves the machine as it was', async () => {
    const machine = () => [Math, Date, performance].flatMap((object) => Object.values(Object.getOwnPropertyDescriptors(object)));
    const before = [...machine(), { value: globalThis.setImmediate }];
    await play(randomStory(1));
    expect([...machine(), { value: globalThis.setImmediate }]).toEqual(before);
  });
});

test.each(knownStories)('$name does not happen again', async ({ story }) => {
  expect((await play(story)).violation).toBeUndefined();
});
