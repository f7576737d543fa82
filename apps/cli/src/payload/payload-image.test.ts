import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { type ServedImage, serveImage } from '@flotilla/registry/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const INCLUDED = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
const files: Readonly<Record<string, object>> = {
  'release-manifests/release-metadata': { kind: 'cincinnati-metadata-v0', version: '4.20.1' },
  'release-manifests/image-references': {
    kind: 'ImageStream',
    metadata: { name: '4.20.1' },
    spec: { tags: [{ name: 'a', from: { kind: 'DockerImage', name: 'host/a:1' } }] },
  },
  'manifests/0000_00_own_00.json': {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'own', namespace: 'default', annotations: INCLUDED },
    data: { image: '{{.ReleaseImage}}' },
  },
  'etc/passwd': {},
};
let image: ServedImage;

beforeAll(async () => {
  image = await serveImage(Object.fromEntries(Object.entries(files).map(([path, object]) => [path, JSON.stringify(object)])));
});
afterAll(() => image?.[Symbol.asyncDispose]());

const flotilla = (...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(import.meta.dirname, '../main.ts'), 'payload', ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });

test('a payload is read out of its image', { timeout: 90_000 }, async () => {
  const { host, pullSpec } = image;
  const { code, stdout } = await flotilla('included', pullSpec, '--json', '--insecure-registry', host);
  expect({ code, included: JSON.parse(stdout) }).toEqual({
    code: 0,
    included: [{ file: '0000_00_own_00.json', kind: 'ConfigMap', namespace: 'default', name: 'own' }],
  });
  expect(await flotilla('lint', pullSpec, '--insecure-registry', host)).toMatchObject({ code: 0, stdout: '' });
});

test('an image that is not there is refused, with its name', { timeout: 90_000 }, async () => {
  const { host, pullSpec } = image;
  const missing = pullSpec.replace(/[a-f0-9]{64}$/, '0'.repeat(64));
  const { code, stdout, stderr } = await flotilla('lint', missing, '--insecure-registry', host);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(missing);
});
