import { parseImageReference, RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { describe, expect, test } from 'vitest';
import { allExcludedSentence, buildImageList, handOver } from './image-list.ts';
import type { ImageSource, ResolvedImage } from './image-source.ts';
import { parsePullSpec } from './pull-spec.ts';

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const release = (tags: Record<string, string>): Uint8Array =>
  encode({ kind: 'ImageStream', spec: { tags: Object.entries(tags).map(([name, from]) => ({ name, from: { name: from } })) } });
const catalogue = (name: string, channel: string, images: string[]): Uint8Array =>
  encode(
    [
      { schema: 'olm.package', name },
      { schema: 'olm.channel', package: name, name: channel, entries: [{ name: `${name}.v1` }] },
      { schema: 'olm.bundle', package: name, name: `${name}.v1`, relatedImages: images.map((image) => ({ name: 'x', image })) },
    ]
      .map((object) => JSON.stringify(object))
      .join('\n'),
  );

interface FakeImage {
  digest?: string;
  files?: Record<string, Uint8Array>;
  labels?: Record<string, string>;
}

/** Fakes a registry: an unnamed image resolves to a digest of its own name, `undefined` fails to resolve. */
function fakeSource(images: Record<string, FakeImage | undefined>): ImageSource {
  return {
    bytesRead: 0,
    async resolve(pullSpec): Promise<ResolvedImage> {
      if (pullSpec in images && !images[pullSpec]) throw new Error(`${pullSpec}: 404`);
      const digest = images[pullSpec]?.digest ?? `digest-of-${pullSpec}`;
      return { pullSpec, digest, referenceDigest: digest, layers: [], labels: images[pullSpec]?.labels ?? {} };
    },
    async readFiles({ pullSpec }, { match, paths }) {
      const files = Object.entries(images[pullSpec]?.files ?? {});
      return new Map(files.filter(([path]) => match?.(path) ?? paths?.includes(path)));
    },
  };
}

const references = 'release-manifests/image-references';
const signal = new AbortController().signal;
const list = async (keys: Parameters<typeof parsePullSpec>[0], images: Record<string, FakeImage | undefined>) => {
  const { images: wanted, unresolved, skipped } = await buildImageList(parsePullSpec(keys), fakeSource(images), signal);
  return {
    wanted: wanted.map(({ pullSpecs }) => pullSpecs.map(({ pullSpec }) => pullSpec)),
    unresolved: unresolved.map(({ pullSpec }) => pullSpec),
    skipped,
  };
};

test('release, components, indexes, operators and additional images, in that order', async () => {
  const images = {
    'h/release:1': { files: { [references]: release({ etcd: 'h/etcd:1', cli: 'h/cli:1' }) } },
    'h/index:1': { files: { 'configs/ptp/catalog.json': catalogue('ptp', 'stable', ['h/ptp:1']), 'configs/README.md': encode('{') } },
  };
  const keys = {
    'platform.image': 'h/release:1',
    'operators.indexes': 'h/index:1',
    'operators.packagesAndChannels': 'ptp:stable',
    additionalImages: 'h/extra:1',
  };
  expect((await list(keys, images)).wanted).toEqual([
    ['h/release:1'],
    ['h/etcd:1'],
    ['h/cli:1'],
    ['h/index:1'],
    ['h/ptp:1'],
    ['h/extra:1'],
  ]);
});

test('images of one digest are one image with all its names', async () => {
  const images = {
    'h/release:1': { files: { [references]: release({ a: 'h/a:1', b: 'h/b:1' }) } },
    'h/a:1': { digest: 'same' },
    'h/b:1': { digest: 'same' },
  };
  expect((await list({ 'platform.image': 'h/release:1', additionalImages: 'h/a:1' }, images)).wanted).toEqual([
    ['h/release:1'],
    ['h/a:1', 'h/b:1'],
  ]);
});

test('patterns take out components and operator images by name and pull spec, never what the spec names itself', async () => {
  const images = {
    'h/release:1': { files: { [references]: release({ 'aws-driver': 'h/x:1', etcd: 'h/etcd:1', other: 'h/vsphere:1' }) } },
    'h/index:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', ['h/ptp:1', 'h/aws-op:1']) } },
  };
  const keys = {
    'platform.image': 'h/release:1',
    'operators.indexes': 'h/index:1',
    'operators.packagesAndChannels': 'ptp:stable',
    additionalImages: 'h/aws-extra:1',
    excludePrecachePatterns: 'aws\nvsphere\nh/release\nh/index',
  };
  expect((await list(keys, images)).wanted).toEqual([['h/release:1'], ['h/etcd:1'], ['h/index:1'], ['h/ptp:1'], ['h/aws-extra:1']]);
});

test('a component that does not resolve is reported and the rest is listed', async () => {
  const images = { 'h/release:1': { files: { [references]: release({ a: 'h/a:1', b: 'h/gone:1' }) } }, 'h/gone:1': undefined };
  expect(await list({ 'platform.image': 'h/release:1' }, images)).toEqual({
    wanted: [['h/release:1'], ['h/a:1']],
    unresolved: ['h/gone:1'],
    skipped: [],
  });
});

test.each([
  { patterns: '.', excluded: 3, left: [['h/release:1'], ['h/index:1']] },
  { patterns: 'h/', excluded: 3, left: [['h/release:1'], ['h/index:1']] },
  { patterns: 'etcd', excluded: 0, left: [['h/release:1'], ['h/cli:1'], ['h/index:1'], ['h/ptp:1']] },
  { patterns: 'none', excluded: 0, left: [['h/release:1'], ['h/etcd:1'], ['h/cli:1'], ['h/index:1'], ['h/ptp:1']] },
])('patterns $patterns that leave nothing of release and operators are told', async ({ patterns, excluded, left }) => {
  const images = {
    'h/release:1': { files: { [references]: release({ etcd: 'h/etcd:1', cli: 'h/cli:1' }) } },
    'h/index:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', ['h/ptp:1']) } },
  };
  const keys = { ...operatorKeys, 'platform.image': 'h/release:1', excludePrecachePatterns: patterns };
  const found = await buildImageList(parsePullSpec(keys), fakeSource(images), signal);
  expect(found.images.map(({ pullSpecs }) => pullSpecs.map(({ pullSpec }) => pullSpec))).toEqual(left);
  expect(found.allExcluded).toBe(excluded);
  const sentence = excluded === 0 ? undefined : expect.stringContaining('leave out all 3 images of the release and its operators');
  expect(allExcludedSentence(found)).toEqual(sentence);
});

const operatorKeys = { 'operators.indexes': 'h/index:1', 'operators.packagesAndChannels': 'ptp:stable' };

test.each([
  'oci://h/chart:1',
  'docker://h/ptp:1',
  'https://h/ptp:1',
  'oci-archive:/ptp.tar',
  'h/Upper:1',
  'h/ptp:a+b',
  'h/a@b@c',
  '--help',
  'h/a b',
])('a related image %s, which no pod can pull, is skipped and named with its bundle and a pattern for it', async (image) => {
  const images = { 'h/index:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', ['h/ptp:1', image]) } } };
  const { wanted, unresolved, skipped } = await list(operatorKeys, images);
  expect({ wanted, unresolved }).toEqual({ wanted: [['h/index:1'], ['h/ptp:1']], unresolved: [] });
  expect(skipped).toEqual([{ pullSpec: image, package: 'ptp', channel: 'stable', bundle: 'ptp.v1', pattern: expect.any(String) }]);
  const pattern = skipped[0]?.pattern ?? '';
  expect(await list({ ...operatorKeys, excludePrecachePatterns: pattern }, images)).toMatchObject({ wanted, skipped: [] });
});

test('a related image that a runtime may find by its own rules is not skipped', async () => {
  const named = ['ptp:1', 'library/ptp', `h.test/ptp@sha512:${'a'.repeat(128)}`];
  const images = { 'h/index:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', named) } } };
  expect(await list(operatorKeys, images)).toMatchObject({ wanted: [['h/index:1'], ...named.map((name) => [name])], skipped: [] });
});

test('a related image whose name only some runtimes find says of which bundle it is, and how to leave it out', async () => {
  const images = { 'h/index:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', ['ptp:1']) } } };
  const parsing: ImageSource = {
    ...fakeSource(images),
    resolve: async (pullSpec, aborted) => {
      if (pullSpec === 'ptp:1') parseImageReference(pullSpec);
      return await fakeSource(images).resolve(pullSpec, aborted);
    },
  };
  const { unresolved } = await buildImageList(parsePullSpec(operatorKeys), parsing, signal);
  expect(unresolved.map(({ error }) => String(error))).toEqual([
    expect.stringMatching(
      /"ptp:1": names no registry.*; it is of bundle ptp\.v1 \(ptp:stable\); .* with "ptp:1" in excludePrecachePatterns/,
    ),
  ]);
});

test('an image of the spec with a scheme is an error that says where it stands and what to write', async () => {
  await expect(list({ additionalImages: 'oci://h/extra:1' }, {})).rejects.toThrow(
    /key additionalImages has the line "oci:\/\/h\/extra:1", which is no pull spec; write host\/repository:tag/,
  );
});

test('the label of an index says where its catalogue is', async () => {
  const labels = { 'operators.operatorframework.io.index.configs.v1': '/my/./catalogues/' };
  const files = { 'my/catalogues/a/c.json': catalogue('ptp', 'stable', ['h/ptp:1']), 'configs/c.json': encode('broken') };
  expect(
    (await list({ 'operators.indexes': 'h/i:1', 'operators.packagesAndChannels': 'ptp:stable' }, { 'h/i:1': { labels, files } })).wanted,
  ).toEqual([['h/i:1'], ['h/ptp:1']]);
});

test('a package may be in several indexes, and a channel in one of them only', async () => {
  const images = {
    'h/i:1': { files: { 'configs/c.json': catalogue('ptp', 'old', ['h/ptp:old']) } },
    'h/i:2': { files: { 'configs/c.json': catalogue('ptp', 'stable', ['h/ptp:new']) } },
  };
  expect((await list({ 'operators.indexes': 'h/i:1\nh/i:2', 'operators.packagesAndChannels': 'ptp:stable' }, images)).wanted).toEqual([
    ['h/i:1'],
    ['h/i:2'],
    ['h/ptp:new'],
  ]);
});

describe('a list that cannot be built says which input and why', () => {
  const index = { 'h/i:1': { files: { 'configs/c.json': catalogue('ptp', 'stable', []) } } };
  const operators = { 'operators.indexes': 'h/i:1', 'operators.packagesAndChannels': 'ptp:stable' };
  test.each<[string, Parameters<typeof parsePullSpec>[0], Record<string, FakeImage | undefined>, string, RegExp]>([
    [
      'no release image',
      { 'platform.image': 'h/r:1' },
      { 'h/r:1': {} },
      'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
      /platform\.image h\/r:1 has no file release-manifests/,
    ],
    [
      'broken references',
      { 'platform.image': 'h/r:1' },
      { 'h/r:1': { files: { [references]: encode('{') } } },
      'FLOTILLA_IMAGE_REFERENCES_INVALID',
      /h\/r:1/,
    ],
    [
      'no catalogue',
      operators,
      { 'h/i:1': { files: { 'database/index.db': encode('x') } } },
      'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
      /operators\.indexes h\/i:1 has no file-based catalogue/,
    ],
    [
      'a label that leads out',
      operators,
      { 'h/i:1': { labels: { 'operators.operatorframework.io.index.configs.v1': '/../etc' } } },
      'FLOTILLA_PULLER_IMAGE_UNSUITABLE',
      /which is no folder/,
    ],
    [
      'a broken catalogue',
      operators,
      { 'h/i:1': { files: { 'configs/c.json': encode('{') } } },
      'FLOTILLA_CATALOGUE_INVALID',
      /configs\/c\.json/,
    ],
    [
      'an unknown package',
      { ...operators, 'operators.packagesAndChannels': 'sriov:stable' },
      index,
      'FLOTILLA_CATALOGUE_PACKAGE_UNKNOWN',
      /"sriov"; the indexes have ptp/,
    ],
    [
      'an unknown channel',
      { ...operators, 'operators.packagesAndChannels': 'ptp:beta' },
      index,
      'FLOTILLA_CATALOGUE_CHANNEL_UNKNOWN',
      /its channels are stable/,
    ],
    ['a bad pattern', { 'platform.image': 'h/r:1', excludePrecachePatterns: '[' }, {}, 'FLOTILLA_EXCLUDE_PATTERN_INVALID', /"\["/],
  ])('%s', async (_, keys, images, code, message) => {
    await expect(list(keys, images)).rejects.toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });
});

test('an image for another platform is not left to a store: a runtime takes what a digest names, whatever runs it', () => {
  const error = new RegistryError(RegistryErrorCode.noPlatform, 'no image for linux/amd64; it has linux/s390x');
  const unresolved = [{ pullSpec: `h.test/a@sha256:${'a'.repeat(64)}`, error }];
  expect(handOver({ images: [], unresolved, skipped: [], allExcluded: 0 })).toEqual({
    images: [],
    unresolved,
    skipped: [],
    allExcluded: 0,
  });
});

test('an image of known digest that does not resolve is left to a store that finds images itself, one by tag is not', () => {
  const [one, two] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`);
  const error = new Error('404');
  const unresolved = [`h.test/a:v1@${one}`, `h.test/b@${one}`, `h.test/c@${two}`, 'h.test/d:v1', 'not a reference'].map((pullSpec) => ({
    pullSpec,
    error,
  }));
  const { images, unresolved: rest } = handOver({ images: [], unresolved, skipped: [], allExcluded: 0 });
  expect(images).toEqual([
    {
      digest: one,
      layers: [],
      handedOver: error,
      pullSpecs: [
        { pullSpec: `h.test/a:v1@${one}`, referenceDigest: one },
        { pullSpec: `h.test/b@${one}`, referenceDigest: one },
      ],
    },
    { digest: two, layers: [], handedOver: error, pullSpecs: [{ pullSpec: `h.test/c@${two}`, referenceDigest: two }] },
  ]);
  expect(rest.map(({ pullSpec }) => pullSpec)).toEqual(['h.test/d:v1', 'not a reference']);
});
