import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { compileExcludePatterns } from '@flotilla/release';
import { expect, test } from 'vitest';
import { parsePullSpec } from './spec.ts';

const keys = {
  'platform.image': 'host/release:1',
  'operators.indexes': 'host/index:1',
  'operators.packagesAndChannels': 'a:b\nc:d',
  excludePrecachePatterns: 'aws',
  additionalImages: 'host/a:1\nhost/b:1',
  spaceRequired: '35',
};

const targets = [
  defineTarget('specs of a pull', {
    make: (random) =>
      Object.fromEntries(
        Object.entries(keys).map(([key, value]) => [
          key,
          random.chance(0.4) ? random.mutateText(value) : random.chance(0.1) ? random.text(200) : value,
        ]),
      ),
    run: (given) => compileExcludePatterns(parsePullSpec(given).excludePatterns),
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
