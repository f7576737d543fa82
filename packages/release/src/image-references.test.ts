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

describe('refused, naming the release image and the field', () => {
  test.each<[string, string | object, RegExp]>([
    ['nothing', '', /is not JSON/],
    ['cut off', '{"kind":"ImageStream","spec":{"tags":[', /is not JSON/],
    ['null', 'null', /the document/],
    ['an array', '[]', /the document/],
    ['another kind', { kind: 'Pod', spec: { tags: [] } }, /kind/],
    ['no spec', { kind: 'ImageStream' }, /spec/],
    ['no tags', stream(undefined), /spec\.tags/],
    ['empty tags', stream([]), /spec\.tags/],
    ['tags of the wrong type', stream({ etcd: 'x' }), /spec\.tags/],
    ['a tag that is null', stream([null]), /spec\.tags\.0/],
    ['a tag without from', stream([{ name: 'etcd' }]), /spec\.tags\.0\.from/],
    ['a pull spec that is a number', stream([tag('etcd', 7)]), /spec\.tags\.0\.from\.name/],
    ['an empty pull spec', stream([tag('etcd', '')]), /"etcd"/],
    ['a pull spec with a shell', stream([tag('etcd', 'a;rm -rf /')]), /"etcd"/],
    ['a pull spec that is an option', stream([tag('etcd', '--help')]), /"etcd"/],
    ['a pull spec over two lines', stream([tag('etcd', 'a\nb')]), /"etcd"/],
    ['a pull spec of 10,000 characters', stream([tag('etcd', 'a'.repeat(10_000))]), /"etcd"/],
    ['too many tags', stream(Array.from({ length: imageReferencesLimits.tags + 1 }, (_, i) => tag(`t${i}`, 'a'))), /spec\.tags/],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), /the document/],
    ['too many bytes', ' '.repeat(imageReferencesLimits.bytes + 1), /bytes/],
  ])('%s', (_, content, message) => {
    const parse = (): unknown => parseImageReferences(bytes(content), 'host/release:1');
    expect(parse).toThrow(expect.objectContaining({ code: 'FLOTILLA_IMAGE_REFERENCES_INVALID', message: expect.stringMatching(message) }));
    expect(parse).toThrow(/"host\/release:1"/);
  });

  test('bytes that are not UTF-8', () => {
    expect(() => parseImageReferences(Uint8Array.of(0x22, 0xff, 0x22), 'r')).toThrow(/is not JSON/);
  });
});
