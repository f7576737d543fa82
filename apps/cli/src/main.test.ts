import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

/** Writes a release with more manifests than a pipe's buffer holds. */
async function largeRelease(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-release-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const annotations = { 'include.release.openshift.io/self-managed-high-availability': 'true' };
  const manifests = Array.from({ length: 2_000 }, (_, i) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `settings-of-an-operator-${i}`, namespace: 'shop', annotations },
    }),
  );
  const tags = [{ name: 'web', from: { kind: 'DockerImage', name: `registry.example/web@sha256:${'a'.repeat(64)}` } }];
  const files = {
    'manifests/0000_00_a_01.json': '',
    'release-manifests/release-metadata': JSON.stringify({ kind: 'cincinnati-metadata-v0', version: '4.22.0' }),
    'release-manifests/image-references': JSON.stringify({
      ...{ apiVersion: 'image.openshift.io/v1', kind: 'ImageStream' },
      ...{ metadata: { name: '4.22.0' }, spec: { tags } },
    }),
    'release-manifests/0000_50_web_01.json': manifests.join('\n'),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

test('a reader that has enough ends the program, and is no error', async () => {
  const entry = fileURLToPath(new URL('main.ts', import.meta.url));
  const program = spawn(process.execPath, [entry, 'payload', 'included', await largeRelease(), '--json']);
  program.stdout.once('data', () => program.stdout.destroy());
  let said = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(program, 'close');
  expect(said).not.toMatch(/error|EPIPE/i);
  expect(code).toBe(0);
}, 30_000);
