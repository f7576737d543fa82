import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { listImageParts, MemoryBlobs, writeImage } from '@flotilla/registry';
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
    metadata: { name: 'own', namespace: 'a', annotations: INCLUDED },
    data: { image: '{{.ReleaseImage}}' },
  },
  'etc/passwd': {},
};
let server: Server;
let host = '';
let pullSpec = '';

beforeAll(async () => {
  const store = new MemoryBlobs();
  const image = await writeImage(store, {
    platform: { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch },
    layers: [
      {
        content: { files: Object.entries(files).map(([path, object]) => ({ path, content: { bytes: JSON.stringify(object) } })) },
        compression: 'gzip',
      },
    ],
  });
  const { manifests, blobs } = await listImageParts(store, image);
  const types = new Map([...manifests, ...blobs].map(({ digest, mediaType }) => [digest, mediaType]));
  server = createServer((request, response) => {
    const digest = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    void store
      .readBlob(digest, 2 ** 24)
      .then((bytes) => response.writeHead(200, { 'content-type': types.get(digest) ?? '', 'content-length': bytes.length }).end(bytes))
      .catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  host = `127.0.0.1:${address.port}`;
  pullSpec = `${host}/releases/release@${image.digest}`;
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

const flotilla = (...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(import.meta.dirname, '../main.ts'), 'payload', ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });

test('a payload is read out of its image', async () => {
  const { code, stdout } = await flotilla('included', pullSpec, '--json', '--insecure-registry', host);
  expect({ code, included: JSON.parse(stdout) }).toEqual({
    code: 0,
    included: [{ file: '0000_00_own_00.json', kind: 'ConfigMap', namespace: 'a', name: 'own' }],
  });
  expect(await flotilla('lint', pullSpec, '--insecure-registry', host)).toMatchObject({ code: 0, stdout: '' });
});

test('an image that is not there is refused, with its name', async () => {
  const missing = pullSpec.replace(/[a-f0-9]{64}$/, '0'.repeat(64));
  const { code, stdout, stderr } = await flotilla('lint', missing, '--insecure-registry', host);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(missing);
});
