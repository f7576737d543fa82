import { describe, expect, test } from 'vitest';
import { imageReferencesLimits, parseImageReferences } from './image-references.ts';

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const stream = (tags: unknown): object => ({
  kind: 'ImageStream',
  apiVersion: 'image.openshift.io/v1',
  metadata: { name: '4.20.1' },
  spec: { tags },
});
const tag = (name: unknown, from: unknown): unknown => ({ name, from: { kind: 'DockerImage', name: from }, annotations: { a: 'b' } });
const digest = `sha256:${'a'.repeat(64)}`;

test('names, pull specs and the version are read; what else there is does not matter', () => {
  const parsed = parseImageReferences(
    bytes(stream([tag('etcd', `quay.example/r/etcd@${digest}`), tag('cli', ' host:5000/cli:v1\n')])),
    'r',
  );
  expect(parsed).toEqual({
    version: '4.20.1',
    created: undefined,
    images: [
      { name: 'etcd', pullSpec: `quay.example/r/etcd@${digest}`, kind: 'DockerImage' },
      { name: 'cli', pullSpec: 'host:5000/cli:v1', kind: 'DockerImage' },
    ],
  });
});

test('YAML is read as JSON is', () => {
  const text = `kind: ImageStream\nmetadata: {name: 4.20.1}\nspec:\n  tags:\n  - name: cli\n    from:\n      kind: DockerImage\n      name: host/cli:v1\n`;
  expect(parseImageReferences(bytes(text), 'r')).toMatchObject({ version: '4.20.1', images: [{ name: 'cli', pullSpec: 'host/cli:v1' }] });
});

test('where images need not be, a release without any is one, and tags that name none are passed over', () => {
  const imagesOf = (value: unknown) => parseImageReferences(bytes(value), 'r', { least: 0 }).images.map(({ name }) => name);
  expect(imagesOf({ kind: 'ImageStream' })).toEqual([]);
  expect(imagesOf(stream([]))).toEqual([]);
  expect(imagesOf(stream([{ name: 'etcd' }, tag('cli', 'host/cli:v1')]))).toEqual(['cli']);
});

describe('refused, naming the release image and the field', () => {
  test.each<[string, string | object, RegExp]>([
    ['nothing', '', /the document/],
    ['cut off', '{"kind":"ImageStream","spec":{"tags":[', /neither JSON nor YAML/],
    ['null', 'null', /the document/],
    ['an array', '[]', /the document/],
    ['another kind', { kind: 'Pod', spec: { tags: [] } }, /kind/],
    ['no spec', { kind: 'ImageStream' }, /spec/],
    ['no tags', stream(undefined), /spec\.tags/],
    ['empty tags', stream([]), /spec\.tags/],
    ['tags of the wrong type', stream({ etcd: 'x' }), /spec\.tags/],
    ['a tag that is null', stream([null]), /spec\.tags\.0/],
    ['a tag without from', stream([{ name: 'etcd' }]), /"etcd"/],
    ['a pull spec that is a number', stream([tag('etcd', 7)]), /spec\.tags\.0\.from\.name/],
    ['an empty pull spec', stream([tag('etcd', '')]), /"etcd"/],
    ['a pull spec with a shell', stream([tag('etcd', 'a;rm -rf /')]), /"etcd"/],
    ['a pull spec that is an option', stream([tag('etcd', '--help')]), /"etcd"/],
    ['a pull spec over two lines', stream([tag('etcd', 'a\nb')]), /"etcd"/],
    ['a pull spec of 10,000 characters', stream([tag('etcd', 'a'.repeat(10_000))]), /"etcd"/],
    ['too many tags', stream(Array.from({ length: imageReferencesLimits.tags + 1 }, (_, i) => tag(`t${i}`, 'a'))), /spec\.tags/],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), /neither JSON nor YAML/],
    ['too many bytes', ' '.repeat(imageReferencesLimits.bytes + 1), /bytes/],
  ])('%s', (_, content, message) => {
    const parse = (): unknown => parseImageReferences(bytes(content), 'host/release:1');
    expect(parse).toThrow(expect.objectContaining({ code: 'FLOTILLA_IMAGE_REFERENCES_INVALID', message: expect.stringMatching(message) }));
    expect(parse).toThrow(/"host\/release:1"/);
  });

  test('bytes that are not UTF-8', () => {
    expect(() => parseImageReferences(Uint8Array.of(0x22, 0xff, 0x22), 'r')).toThrow(/neither JSON nor YAML/);
  });
});
