import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readCatalogue } from './catalogue/catalogue.ts';
import { compileExcludePatterns } from './exclude/exclude-patterns.ts';
import { parseImageReferences } from './payload/image-references.ts';

const objects = [
  { schema: 'olm.package', name: 'ptp', defaultChannel: 'stable' },
  {
    schema: 'olm.channel',
    package: 'ptp',
    name: 'stable',
    entries: [{ name: 'ptp.v1' }, { name: 'ptp.v2', replaces: 'ptp.v1', skipRange: '>=1.0.0 <2.0.0' }],
  },
  {
    schema: 'olm.bundle',
    package: 'ptp',
    name: 'ptp.v1',
    properties: [{ type: 'olm.package', value: { version: '1.0.0' } }],
    relatedImages: [],
  },
  { schema: 'olm.bundle', package: 'ptp', name: 'ptp.v2', relatedImages: [{ name: 'a', image: 'host/a:1' }] },
];

function catalogue(random: RandomValues): { path: string; content: Uint8Array }[] {
  const odd = objects.map((object) => (random.chance(0.3) ? random.mutate(object) : object));
  const isYaml = random.chance(0.5);
  const text = isYaml
    ? odd.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n')
    : odd.map((object) => JSON.stringify(object)).join('\n');
  const file = {
    path: `configs/ptp/catalog.${isYaml ? 'yaml' : 'json'}`,
    content: Buffer.from(random.chance(0.4) ? random.mutateText(text) : text),
  };
  const ignore = {
    path: random.pick(['configs/.indexignore', '.indexignore']),
    content: Buffer.from(random.list(5, () => random.text(20)).join('\n')),
  };
  return random.chance(0.3) ? [file, ignore] : [file];
}

/** YAML that parsers are known to dislike. */
const hostileYaml = (random: RandomValues): string =>
  random.pick([
    () => random.text(400),
    () =>
      `a: [${random.pick(['a,', ',', '[],', '!!x b,', '&a b,', '{a: b},']).repeat(random.below(random.chance(0.02) ? 150_000 : 1_000))}]`,
    () => `a: ${random.pick(['[', '{', '- ', '? ', '"', "'", '|\n', '&a ', '!!x ']).repeat(random.below(1_000))}`,
    () => random.list(120, (i) => `k${i % 50}: &a${i} [*a${random.below(i + 1)}, ${random.text(5)}]`).join('\n'),
    () => random.list(300, (i) => `${' '.repeat(i % 300)}a:`).join('\n'),
    () => `${random.pick(['#', ':', '\n', ' ', '\t', '-', '%'])}`.repeat(random.below(2_000)),
  ])();

const targets = [
  defineTarget('catalogues', {
    make: catalogue,
    run: async (files) => (await readCatalogue(files, ['ptp'])).head({ package: 'ptp', channel: 'stable' }),
  }),
  // The puller reads catalogues, once: the largest document that it takes may keep it for this long.
  defineTarget('YAML that is hostile', {
    maxPauseMs: 3_000,
    make: hostileYaml,
    run: (text) => readCatalogue([{ path: 'a.yaml', content: Buffer.from(text) }], ['ptp']),
  }),
  defineTarget('image references of a release', {
    make: (random) => {
      const stream = { kind: 'ImageStream', metadata: { name: '4.20' }, spec: { tags: [{ name: 'etcd', from: { name: 'host/etcd:1' } }] } };
      const text = JSON.stringify(random.mutate(stream));
      return random.chance(0.2) ? random.bytes(500) : Buffer.from(random.chance(0.3) ? random.mutateText(text) : text);
    },
    run: (bytes) => parseImageReferences(bytes, 'host/release:1'),
  }),
  defineTarget('exclude patterns', {
    make: (random) => ({
      patterns: random.list(4, () =>
        random
          .list(12, () =>
            random.pick([
              'a',
              '.*',
              '\\(',
              '\\)',
              '\\{1,9\\}',
              '\\{99\\}',
              '[a-z]',
              '[[:alpha:]]',
              '\\|',
              '^',
              '$',
              '\\+',
              '*',
              '\\b',
              random.text(4),
            ]),
          )
          .join(''),
      ),
      name: random.text(60),
      pullSpec: random.chance(0.1) ? 'a'.repeat(1_024) : random.text(200),
    }),
    run: ({ patterns, name, pullSpec }) =>
      compileExcludePatterns(patterns).excludes({ name: name.slice(0, 256), pullSpec: pullSpec.slice(0, 1_024) }),
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
