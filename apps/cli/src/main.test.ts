import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildReleased, buildReleaseHead, writeRelease } from '@flotilla/release/testing';
import { expect, onTestFinished, test } from 'vitest';

/** Writes a release with more manifests than a pipe's buffer holds. */
async function largeRelease(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-release-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const manifests = Array.from({ length: 2_000 }, (_, i) =>
    JSON.stringify(buildReleased('v1', 'ConfigMap', `settings-of-an-operator-${i}`, { namespace: 'shop' })),
  );
  return writeRelease(folder, {
    ...buildReleaseHead('4.22.0', { web: `registry.example/web@sha256:${'a'.repeat(64)}` }),
    'manifests/0000_00_a_01.json': '',
    'release-manifests/0000_50_web_01.json': manifests.join('\n'),
  });
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
