import { describe, expect, test } from 'vitest';
import { payloadFile, payloadFiles, payloadObject } from '../../testing/payload-fixture.ts';
import { type PayloadFile, payloadLimits } from './layout.ts';
import { loadPayload } from './payload.ts';

const options = { releaseImage: 'host/release:1', clusterProfile: 'self-managed-high-availability' };
const load = (files: Iterable<PayloadFile>) => loadPayload(files, options);
const withFiles = (...more: PayloadFile[]): PayloadFile[] => {
  const replaced = new Set(more.map(({ path }) => path));
  return [...payloadFiles().filter(({ path }) => !replaced.has(path)), ...more];
};
const yaml = (path: string, text: string) => payloadFile(`release-manifests/${path}`, text);

test('manifests come in load order: the own folder whole, then the other, each by the bytes of its file names', async () => {
  const names = ['0000_10_b_x.yaml', '0000_10_a_x.json', '0000_9_a_x.yml', '0000_10_B_x.yaml'];
  const files = names.map((name) => payloadFile(`release-manifests/${name}`, payloadObject('Namespace', name.toLowerCase())));
  const last = payloadFile('manifests/0000_90_cluster-version-operator_00.yaml', payloadObject('Namespace', 'last'));
  const { manifests } = await load(withFiles(...files, last).reverse());
  expect(manifests.map(({ file }) => file)).toEqual([
    'manifests/0000_00_cluster-version-operator_00_a.yaml',
    'manifests/0000_90_cluster-version-operator_00.yaml',
    'release-manifests/0000_10_B_x.yaml',
    'release-manifests/0000_10_a_x.json',
    'release-manifests/0000_10_b_x.yaml',
    'release-manifests/0000_50_some-operator_00_a.yaml',
    'release-manifests/0000_9_a_x.yml',
  ]);
});

test('other endings, other folders and deeper ones are passed over', async () => {
  const broken = ['release-manifests/a.YAML', 'release-manifests/a.sh', 'release-manifests/deep/a.yaml', 'bootstrap/a.yaml', 'a.yaml'];
  const { manifests } = await load(withFiles(...broken.map((path) => payloadFile(path, '{"broken":'))));
  expect(manifests).toHaveLength(2);
});

test('metadata and images of the release are told', async () => {
  const metadata = {
    url: 'https://a.test/x',
    'release.openshift.io/architecture': 'multi',
    'io.openshift.upgrades.graph.release.channels': 'b,,a',
  };
  const file = payloadFile('release-manifests/release-metadata', { kind: 'cincinnati-metadata-v0', version: '4.20.1', metadata });
  const { release, imageReferences, warnings } = await load(withFiles(file));
  expect(release).toMatchObject({
    version: '4.20.1',
    image: 'host/release:1',
    url: 'https://a.test/x',
    architecture: 'Multi',
    channels: ['a', 'b'],
  });
  expect(imageReferences.images).toEqual([{ name: 'cli', pullSpec: 'host/cli:1', kind: 'DockerImage' }]);
  expect(warnings).toEqual([expect.stringContaining('has 1 empty entry')]);
});

test('templates of the own folder are filled in, those of the other are not', async () => {
  const text = `${JSON.stringify(payloadObject('ConfigMap', 'x'))}`.replace('"v1"', '"v1","data":{"image":"{{.ReleaseImage}}"}');
  const { manifests } = await load(withFiles(payloadFile('manifests/a.yaml', text), yaml('a.yaml', text)));
  const images = manifests.filter(({ name }) => name === 'x').map(({ object }) => object.data);
  expect(images).toEqual([{ image: 'host/release:1' }, { image: '{{.ReleaseImage}}' }]);
});

test('a template that is not understood is passed over and told, so that an older operator loads a newer payload', async () => {
  const { manifests, warnings } = await load(withFiles(payloadFile('manifests/new.yaml', 'a: {{ .Tomorrow }}')));
  expect(manifests).toHaveLength(2);
  expect(warnings).toEqual([expect.stringMatching(/^manifests\/new\.yaml is passed over: a template names \.Tomorrow/)]);
});

test('a file may hold several documents, JSON or YAML, and an object may stand in several files', async () => {
  const [a, b] = [payloadObject('Namespace', 'a'), payloadObject('Namespace', 'b')].map((object) => JSON.stringify(object));
  const { manifests } = await load(
    withFiles(yaml('1.yaml', `# none\n---\n---  # comment\n${a}\n---\nnull\n---\r\n${b}\r\n`), yaml('2.json', `${a}${b}`)),
  );
  expect(manifests.flatMap(({ file, line, name }) => (/\d\.(yaml|json)$/.test(file) ? [`${file}:${line} ${name}`] : []))).toEqual([
    'release-manifests/1.yaml:4 a',
    'release-manifests/1.yaml:8 b',
    'release-manifests/2.json:1 a',
    'release-manifests/2.json:1 b',
  ]);
});

test('what is rare is read: anchors, merges, tags', async () => {
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nbase: &b {a: 1, on: yes}\ndata:\n  <<: *b\n  c: !!str 2\n';
  const { manifests } = await load(withFiles(yaml('1.yaml', text)));
  expect(manifests.find(({ name }) => name === 'x')?.object).toMatchObject({ data: { a: 1, true: true, c: '2' } });
});

test('one annotation that is no text makes all of them unreadable', async () => {
  const { manifests } = await load(withFiles(yaml('1.yaml', 'kind: A\nmetadata:\n  name: x\n  annotations: {a: b, c: 1}\n')));
  expect(manifests.find(({ name }) => name === 'x')?.annotations).toBeUndefined();
});

describe('refused, with the file and the fix', () => {
  const without = (path: string) => payloadFiles().filter((file) => !file.path.startsWith(path));
  const metadata = (content: object | string) => withFiles(payloadFile('release-manifests/release-metadata', content));
  const kind = 'cincinnati-metadata-v0';
  test.each<{ name: string; files: PayloadFile[]; want: RegExp }>([
    { name: 'nothing', files: [], want: /has no folder manifests\/; give the root of a release/ },
    { name: 'no folder of the operator', files: without('manifests/'), want: /has no folder manifests\/; give the root/ },
    { name: 'no other folder', files: without('release-manifests/'), want: /has no folder release-manifests\/;/ },
    { name: 'no metadata', files: without('release-manifests/release-metadata'), want: /has no release-manifests\/release-metadata;/ },
    { name: 'no images', files: without('release-manifests/image-references'), want: /has no release-manifests\/image-references;/ },
    { name: 'metadata that is no JSON', files: metadata('x'), want: /release-metadata: is not JSON/ },
    { name: 'metadata of another kind', files: metadata({ kind: 'x' }), want: /unrecognized Cincinnati metadata kind "x"/ },
    { name: 'no version', files: metadata({ kind }), want: /missing required Cincinnati metadata version/ },
    { name: 'a version of two numbers', files: metadata({ kind, version: '4.20' }), want: /invalid Cincinnati metadata version "4\.20"/ },
    { name: 'a version with a leading zero', files: metadata({ kind, version: '4.020.1' }), want: /invalid Cincinnati metadata version/ },
    {
      name: 'files of two releases',
      files: metadata({ kind, version: '4.20.2' }),
      want: /version from image-references \(4\.20\.1\) differs from release-metadata \(4\.20\.2\); use both files of the same release/,
    },
    {
      name: 'a path that leaves the folder',
      files: withFiles(payloadFile('manifests/../../etc/a.yaml', 'a: 1')),
      want: /the path "manifests\/\.\.\/\.\.\/etc/,
    },
    { name: 'a path from the root', files: withFiles(payloadFile('/manifests/a.yaml', 'a: 1')), want: /the path "\/manifests/ },
    { name: 'a file twice', files: [...payloadFiles(), ...payloadFiles()], want: /has the file ".*" twice; keep one/ },
    {
      name: 'a file that is too large',
      files: withFiles(yaml('a.yaml', ' '.repeat(payloadLimits.fileBytes + 1))),
      want: /bytes in "release-manifests\/a\.yaml"/,
    },
    {
      name: 'a manifest without a name',
      files: withFiles(yaml('a.yaml', 'kind: List\nitems: []\n')),
      want: /host\/release:1: parse release-manifests\/a\.yaml: Resource with fields Group: "" Kind: "List" Name: "" must contain/,
    },
    { name: 'a list as a manifest', files: withFiles(yaml('a.yaml', '- a\n')), want: /a\.yaml: the document at line 1 is no object/ },
    {
      name: 'an object twice in a file',
      files: withFiles(
        yaml('a.yaml', 'apiVersion: x/v1\nkind: A\nmetadata: {name: own}\n---\napiVersion: x/v2\nkind: A\nmetadata: {name: own}\n'),
      ),
      want: /duplicate resource: \(Group: "x" Kind: "A" Name: "own"\)/,
    },
    {
      name: 'what is no YAML',
      files: withFiles(yaml('a.yaml', 'a: [\n')),
      want: /parse release-manifests\/a\.yaml: is not YAML in the document at line 1/,
    },
    { name: 'what is no JSON', files: withFiles(yaml('a.json', '{"a": 1,}x')), want: /parse release-manifests\/a\.json: is not JSON/ },
    { name: 'a wrong separator', files: withFiles(yaml('a.yaml', 'a: 1\n---b\n')), want: /invalid Yaml document separator: b/ },
    {
      name: 'what is no text',
      files: withFiles({ path: 'release-manifests/a.yaml', content: Uint8Array.of(0xff) }),
      want: /a\.yaml: is not UTF-8 text/,
    },
    { name: 'a hundred levels', files: withFiles(yaml('a.json', '{"a":'.repeat(200))), want: /nests deeper than 100 levels/ },
    {
      name: 'two broken files',
      files: withFiles(yaml('a.yaml', 'a'), yaml('b.yaml', 'b')),
      want: /\[parse release-manifests\/a\.yaml: .*, parse release-manifests\/b\.yaml: .*\]; correct these files/,
    },
  ])('$name', async ({ files, want }) => {
    await expect(load(files)).rejects.toMatchObject({ code: 'FLOTILLA_PAYLOAD_INVALID', message: expect.stringMatching(want) });
  });
});
