import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Catalogue, readCatalogue, unknownPackage } from './catalogue.ts';
import { catalogueLimits, isCataloguePath } from './documents.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const pack = { schema: 'olm.package', name: 'ptp', defaultChannel: 'stable' };
const channel = {
  schema: 'olm.channel',
  package: 'ptp',
  name: 'stable',
  entries: [{ name: 'ptp.v1' }, { name: 'ptp.v2', replaces: 'ptp.v1' }],
};
const bundle = (name: string, images: unknown, version = '1.0.0'): object => ({
  schema: 'olm.bundle',
  package: 'ptp',
  name,
  image: 'host/bundle:1',
  properties: [
    { type: 'olm.package', value: { packageName: 'ptp', version } },
    { type: 'olm.gvk', value: { group: 'g' } },
  ],
  relatedImages: images,
});
const related = [
  { name: 'operator', image: 'host/op@sha256:1' },
  { name: '', image: ' host/daemon:2 ' },
  { image: '' },
  { name: 'again', image: 'host/op@sha256:1' },
];
const objects = [
  pack,
  channel,
  bundle('ptp.v1', [{ name: 'old', image: 'host/old:1' }]),
  bundle('ptp.v2', related),
  { schema: 'custom.thing', anything: [1] },
];
const wanted = { package: 'ptp', channel: 'stable' };
const read = (...contents: string[]): Promise<Catalogue> =>
  readCatalogue(
    contents.map((text, i) => ({ path: `configs/ptp/${i}.json`, content: bytes(text) })),
    ['ptp'],
  );
const images = [
  { name: 'operator', pullSpec: 'host/op@sha256:1' },
  { name: '', pullSpec: 'host/daemon:2' },
];

test.each([
  ['JSON objects one after the other', [objects.map((object) => JSON.stringify(object, null, 2)).join('\n')]],
  ['JSON objects without anything between', [objects.map((object) => JSON.stringify(object)).join('')]],
  ['YAML documents', [objects.map((object) => stringify(object)).join('---\n')]],
  [
    'YAML with markers, comments and an empty document',
    [`# a comment\n---\n${objects.map((object) => stringify(object)).join('\n--- # next\n')}\n---\n`],
  ],
  ['one file for each object', objects.map((object) => JSON.stringify(object))],
  ['objects in the reverse order', objects.toReversed().map((object) => JSON.stringify(object))],
  ['a byte order mark', [`\uFEFF${objects.map((object) => JSON.stringify(object)).join('\n')}`]],
])('%s: the head of the channel and its images', async (_, contents) => {
  expect((await read(...contents)).head(wanted)).toEqual({ ...wanted, bundle: 'ptp.v2', images });
});

test('a package whose channel nobody names has that of its default, wherever it stands in the catalogue', async () => {
  const head = (name: string, version: string) => ({ ...channel, name, entries: [{ name: `ptp.${version}` }] });
  const channels = [head('alpha', 'v1'), head('stable', 'v2'), head('zeta', 'v1')];
  const bundles = [bundle('ptp.v1', []), bundle('ptp.v2', related)];
  const withPackage = (owner: object) => read(...[owner, ...channels, ...bundles].map((object) => JSON.stringify(object)));
  expect((await withPackage(pack)).head({ package: 'ptp', channel: '' })).toEqual({ ...wanted, bundle: 'ptp.v2', images });
  const without = await withPackage({ schema: 'olm.package', name: 'ptp' });
  expect(() => without.head({ package: 'ptp', channel: '' })).toThrow(/alpha, stable, zeta/);
});

test('braces, quotes and backslashes in strings do not end an object', async () => {
  const tricky = { schema: 'custom', text: '}"]{\\', more: ['\\"}'] };
  const catalogue = await read([JSON.stringify(tricky), ...objects.map((object) => JSON.stringify(object))].join('\n'));
  expect(catalogue.head(wanted)?.bundle).toBe('ptp.v2');
});

test('broken objects of another package disturb nobody', async () => {
  const broken = [
    { schema: 'olm.channel', package: 'other', name: 7 },
    { schema: 'olm.bundle', package: 'other', name: 'x', relatedImages: 'no' },
    { schema: 'olm.bundle', package: 7 },
  ];
  expect((await read(...[...broken, ...objects].map((object) => JSON.stringify(object)))).head(wanted)?.bundle).toBe('ptp.v2');
});

test('a package that the index does not have is undefined, and the error for it says what there is', async () => {
  const catalogue = await read(...objects.map((object) => JSON.stringify(object)));
  expect(catalogue.head({ package: 'sriov', channel: 'stable' })).toBeUndefined();
  expect(unknownPackage('sriov', catalogue.packages)).toMatchObject({
    code: 'FLOTILLA_CATALOGUE_PACKAGE_UNKNOWN',
    message: 'operators.packagesAndChannels: no index has package "sriov"; the indexes have ptp',
  });
});

test.each([
  ['an unknown channel', objects, 'beta', 'FLOTILLA_CATALOGUE_CHANNEL_UNKNOWN', /"ptp" has no channel "beta"; its channels are stable/],
  ['a head without a bundle', [pack, channel], 'stable', 'FLOTILLA_CATALOGUE_BUNDLE_UNKNOWN', /"ptp.v2"/],
])('%s', async (_, content, name, code, message) => {
  const catalogue = await read(...content.map((object) => JSON.stringify(object)));
  expect(() => catalogue.head({ package: 'ptp', channel: name })).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }),
  );
});

describe('refused, naming the file', () => {
  const deep = (open: string, close: string, times: number): string => open.repeat(times) + close.repeat(times);
  test.each<[string, string, RegExp]>([
    ['cut off', '{"schema":"olm.package"', /ends inside the object/],
    ['cut off in a string', '{"schema":"olm', /ends inside the object/],
    ['text between objects', '{"schema":"x"} nonsense {"schema":"y"}', /between objects/],
    ['a wrong token', '{"schema": nope}', /is not JSON/],
    ['no schema', '{"name":"x"}', /without the field schema/],
    ['a schema of the wrong type', '{"schema":7}', /without the field schema/],
    ['a YAML scalar', 'just text', /without the field schema/],
    ['a YAML list', '- a\n- b', /without the field schema/],
    ['YAML that is none', 'a: [1, 2\nb: "', /is not YAML/],
    ['YAML with a key twice', 'schema: a\nschema: b', /the key "schema" stands twice/],
    ['YAML with a key twice further down', 'schema: a\nx: [{z: 1, z: 2}]', /the key "z" stands twice/],
    ['YAML of very many values', `schema: [${'a,'.repeat(catalogueLimits.yamlValues + 1)}]`, /more than 100000 values/],
    ['YAML of many aliases of much', `a: &a [${'x, '.repeat(900)}]\nb: [${'*a, '.repeat(900)}]`, /more than 100000 values/],
    ['an alias of what it is part of', 'schema: custom\na: &a [*a]', /the alias "a" stands for nothing/],
    ['an alias of nothing', 'schema: custom\na: *b', /the alias|Unresolved alias/],
    ['a YAML document that is too large', `schema: ${'x'.repeat(catalogueLimits.yamlDocumentBytes)}`, /YAML document of more than 1048576/],
    ['a package without a name', '{"schema":"olm.package"}', /olm\.package: name/],
    [
      'a channel whose entries are text',
      JSON.stringify({ ...channel, entries: 'ptp.v1' }),
      /olm\.channel "stable" of package "ptp": entries/,
    ],
    ['an entry without a name', JSON.stringify({ ...channel, entries: [{ replaces: 'x' }] }), /entries\.0\.name/],
    ['skips of the wrong type', JSON.stringify({ ...channel, entries: [{ name: 'a', skips: 'b' }] }), /entries\.0\.skips/],
    ['a channel twice', JSON.stringify(channel).repeat(2), /a second time/],
    ['a bundle twice', JSON.stringify(bundle('a', [])).repeat(2), /a second time/],
    ['related images of the wrong type', JSON.stringify(bundle('a', 'x')), /relatedImages/],
    ['a related image that is a number', JSON.stringify(bundle('a', [{ image: 1 }])), /relatedImages\.0\.image/],
    ['JSON of 100,000 levels', `{"a":${deep('[', ']', 100_000)}}`, /nests deeper/],
    ['flow YAML of 20,000 levels', `a: ${deep('[', ']', 20_000)}`, /is not YAML|without the field schema/],
    [
      'an alias bomb',
      `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join(', ')}]`).join('\n')}`,
      /is not YAML/,
    ],
    ['an object that is too large', `{"a":"${'x'.repeat(catalogueLimits.documentBytes)}"}`, /more than/],
  ])('%s', async (_, content, message) => {
    await expect(read(content)).rejects.toThrow(
      expect.objectContaining({ code: 'FLOTILLA_CATALOGUE_INVALID', message: expect.stringMatching(message) }),
    );
    await expect(read(content)).rejects.toThrow(/"configs\/ptp\/0\.json"/);
  });

  test('bytes that are not UTF-8', async () => {
    await expect(readCatalogue([{ path: 'a.json', content: Uint8Array.of(0x7b, 0xff, 0x7d) }], [])).rejects.toThrow(/not UTF-8/);
  });
});

test('names from Object.prototype are ordinary names', async () => {
  const text = [
    { schema: 'olm.package', name: '__proto__' },
    { schema: 'olm.channel', package: '__proto__', name: 'constructor', entries: [{ name: 'toString' }] },
    { schema: 'olm.bundle', package: '__proto__', name: 'toString', relatedImages: [] },
  ].map((object) => JSON.stringify(object));
  const catalogue = await readCatalogue([{ path: 'a.json', content: bytes(text.join('')) }], ['__proto__']);
  expect(catalogue.head({ package: '__proto__', channel: 'constructor' })).toMatchObject({ bundle: 'toString', images: [] });
});

test.each([
  ['configs/a/catalog.json', true],
  ['x.yaml', true],
  ['x.yml', true],
  ['configs/a/catalog', true],
  ['configs/a/operator.v4.20', true],
  ['.indexignore', true],
  ['README.md', false],
  ['configs/a/LICENSE', false],
])('%s is read: %s', (path, wantedAnswer) => {
  expect(isCataloguePath(path)).toBe(wantedAnswer);
});

test('aliases in YAML are understood', async () => {
  const text =
    'schema: olm.package\nname: &n ptp\n---\nschema: olm.channel\nname: &s stable\npackage: ptp\nentries: [{name: ptp.v1}]\nold: &x [1]\nnew: &x [2]\nused: *x\n---\nschema: olm.bundle\nname: &n ptp.v1\npackage: ptp\nimage: &i host/a:1\nrelatedImages: [&r {name: a, image: *i}, *r]';
  expect((await read(text)).head(wanted)?.images).toEqual([{ name: 'a', pullSpec: 'host/a:1' }]);
});

test('a signal ends reading between two objects, and others have their turn meanwhile', async () => {
  const object = `${JSON.stringify({ schema: 'custom', text: 'x'.repeat(1_000) })}\n`;
  const files = [{ path: 'a.json', content: bytes(object.repeat(100_000)) }];
  const ended = new Error('no longer wanted');
  const controller = new AbortController();
  const reading = readCatalogue(files, [], controller.signal);
  setImmediate(() => controller.abort(ended));
  await expect(reading).rejects.toBe(ended);
});

test('what .indexignore names is no part of the catalogue', async () => {
  const files = [
    ...objects.map((object, i) => ({ path: `configs/ptp/${i}`, content: bytes(JSON.stringify(object)) })),
    { path: 'configs/ptp/broken', content: bytes('not: [a catalogue') },
    { path: 'configs/.indexignore', content: bytes('broken\n') },
  ];
  expect((await readCatalogue(files, ['ptp'])).head(wanted)).toEqual({ ...wanted, bundle: 'ptp.v2', images });
});

test('a YAML object of many keys, or of many errors, takes no more than a few seconds of a processor', async () => {
  const keys = `schema: custom\n${Array.from({ length: 9_000 }, (_, i) => `key-number-${i}: v`).join('\n')}`;
  const broken = 'schema: [\n'.repeat(12_000);
  const started = process.cpuUsage();
  await read(keys);
  await expect(read(broken)).rejects.toThrow(/is not YAML/);
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1_000).toBeLessThan(3_000);
});
