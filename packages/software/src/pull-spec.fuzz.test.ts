import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { compileExcludePatterns } from '@flotilla/release';
import { expect, test } from 'vitest';
import { type PullSpec, parsePullSpec } from './pull-spec.ts';

const keys = {
  'platform.image': 'host/release:1',
  'operators.indexes': 'host/index:1',
  'operators.packagesAndChannels': 'a:b\nc:d',
  excludePrecachePatterns: 'aws',
  additionalImages: 'host/a:1\nhost/b:1',
  spaceRequired: '35',
};

const linesOf = (text = ''): string[] => [
  ...new Set(
    text
      .split(/\r\n|\r|\n/)
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  ),
];

/** Parses the keys; a refusal must name its key. */
function readOrRefuse(given: Readonly<Record<string, string>>): PullSpec {
  try {
    return parsePullSpec(given);
  } catch (error) {
    expect(Object.keys(keys).some((key) => String(error).includes(`pre-cache-spec key ${key} `))).toBe(true);
    throw error;
  }
}

const targets = [
  defineTarget('specs of a pull', {
    make: (random) =>
      Object.fromEntries(
        Object.entries(keys).map(([key, value]) => [
          key,
          random.chance(0.4) ? random.mutateText(value) : random.chance(0.1) ? random.text(200) : value,
        ]),
      ),
    run: (given) => {
      const spec = readOrRefuse(given);
      const { platformImage = '', operatorIndexes, packages, excludePatterns, additionalImages, spaceRequiredGiB } = spec;
      for (const image of [platformImage, ...operatorIndexes, ...additionalImages]) expect(image).not.toMatch(/\s/);
      expect(additionalImages).toEqual(linesOf(given.additionalImages));
      expect(operatorIndexes).toEqual(linesOf(given['operators.indexes']));
      expect(excludePatterns).toEqual(linesOf(given.excludePrecachePatterns));
      // The parsed spec parses to itself again.
      const again = {
        'platform.image': platformImage,
        'operators.indexes': operatorIndexes.join('\n'),
        'operators.packagesAndChannels': packages.map((each) => `${each.package}:${each.channel}`).join('\n'),
        excludePrecachePatterns: excludePatterns.join('\n'),
        additionalImages: additionalImages.join('\n'),
        spaceRequired: spaceRequiredGiB === undefined ? '' : (given.spaceRequired ?? ''),
      };
      expect(parsePullSpec(again)).toEqual(spec);
      compileExcludePatterns(excludePatterns);
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
