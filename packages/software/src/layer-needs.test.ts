import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { chainIds, judgeLayers, type StoredContent, sumLayers } from './layer-needs.ts';

const sha = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const SIZES = { base: 100, middle: 10, top: 1, other: 5 } as const;
type Name = keyof typeof SIZES;
const layer = (name: Name) => ({ digest: sha(`layer ${name}`), size: SIZES[name], diffId: sha(`diff ${name}`) });
const image = (...names: Name[]) => ({ layers: names.map(layer) });
const chain = (...names: Name[]) => chainIds(names.map((name) => layer(name).diffId)).at(-1) ?? '';
const nameOf = (digest: string) => Object.keys(SIZES).find((name) => sha(`layer ${name}`) === digest);

interface Given {
  readonly blobs?: readonly Name[];
  readonly snapshots?: readonly string[];
  readonly partial?: Partial<Record<Name, number>>;
}
const content = ({ blobs = [], snapshots, partial = {} }: Given): StoredContent => ({
  blobs: new Set(blobs.map((name) => layer(name).digest)),
  snapshots: snapshots && new Set(snapshots),
  partial: new Map(Object.entries(partial).map(([name, bytes]) => [sha(`layer ${name}`), bytes])),
});

test('a chain id names a layer and all below it', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => sha(`diff ${name}`));
  expect(chainIds([a ?? '', b ?? '', c ?? ''])).toEqual([a, sha(`${a} ${b}`), sha(`${sha(`${a} ${b}`)} ${c}`)]);
});

const whole = image('base', 'middle', 'top');
test.each<{ name: string; images?: ReturnType<typeof image>[]; given: Given; missing: Name[]; packed?: Name[] }>([
  { name: 'containerd without anything', given: { snapshots: [] }, missing: ['base', 'middle', 'top'] },
  { name: 'containerd with the beginning unpacked', given: { snapshots: [chain('base', 'middle')] }, missing: ['top'] },
  { name: 'containerd with all unpacked', given: { snapshots: [chain('base', 'middle', 'top')] }, missing: [] },
  {
    name: 'containerd with the end of another image unpacked',
    given: { snapshots: [chain('other', 'middle', 'top')] },
    missing: ['base', 'middle', 'top'],
  },
  {
    name: 'containerd with the beginning as blobs alone',
    given: { snapshots: [], blobs: ['base'] },
    missing: ['middle', 'top'],
    packed: ['base'],
  },
  {
    name: 'containerd with a discarded beginning and a blob above',
    given: { snapshots: [chain('base')], blobs: ['top'] },
    missing: ['middle'],
    packed: ['top'],
  },
  {
    name: 'containerd, where a layer that one image has unpacked stands higher in another',
    images: [image('base', 'top'), image('other', 'base')],
    given: { snapshots: [chain('base')] },
    missing: ['base', 'other', 'top'],
  },
  { name: 'CRI-O with a layer that stood elsewhere', given: { blobs: ['middle', 'top'] }, missing: ['base'], packed: ['middle', 'top'] },
])('$name', ({ images = [whole], given, missing, packed = [] }) => {
  const states = [...judgeLayers(images, content(given))];
  const of = (wanted: string) => states.flatMap(([digest, state]) => (state === wanted ? (nameOf(digest) ?? []) : [])).toSorted();
  expect({ missing: of('missing'), packed: of('packed') }).toEqual({ missing, packed });
});

test('layers of images that CRI-O has are there, also where its storage cannot be read', () => {
  const states = judgeLayers([whole], content({}), [image('base', 'other')]);
  expect(states.get(layer('base').digest)).toBe('there');
  expect(judgeLayers([whole], content({ snapshots: [] }), [image('base', 'other')]).get(layer('base').digest)).toBe('missing');
});

test('an image that does not say what its layers unpack to is pulled whole', () => {
  const layers = whole.layers.map(({ digest, size }) => ({ digest, size }));
  const states = judgeLayers([{ layers }], content({ snapshots: [chain('base'), chain('base', 'middle')] }));
  expect([...states.values()]).toEqual(['missing', 'missing', 'missing']);
});

test('bytes are those of each layer once, less what has arrived of it', () => {
  const given = content({ snapshots: [chain('base')], blobs: ['top'], partial: { middle: 4, other: 99, base: 7 } });
  const layers = [...whole.layers, ...image('other', 'top').layers];
  const states = judgeLayers([whole, image('other', 'top')], given);
  // More than a layer has cannot have arrived of it.
  expect(sumLayers(layers, states, given.partial)).toEqual({ missing: 6, stored: 100 + 4 + 1 + 5, packed: 1 });
});
