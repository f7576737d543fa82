import { join } from 'node:path';
import { endCommand } from '@flotilla/control-plane/processes';
import { type ServedImage, serveImage } from '@flotilla/registry/testing';
import { buildReleased, buildReleaseHead, releaseTexts } from '@flotilla/release/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const files = {
  ...buildReleaseHead('4.20.1', { a: 'host/a:1' }),
  'manifests/0000_00_own_00.json': buildReleased('v1', 'ConfigMap', 'own', {
    namespace: 'default',
    data: { image: '{{.ReleaseImage}}' },
  }),
  'etc/passwd': {},
};
let image: ServedImage;

beforeAll(async () => {
  image = await serveImage(releaseTexts(files));
});
afterAll(() => image?.[Symbol.asyncDispose]());

const flotilla = (...args: string[]) => endCommand(process.execPath, [join(import.meta.dirname, '../main.ts'), 'payload', ...args]);

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
