import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { bundleApp } from './app-bundle.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const ENTRY = 'packages/runtime/src/credential-provider.ts';

/** Access to a cluster whose kubeconfig has an old provider for its token. */
const access = (config: Readonly<Record<string, string>>) => ({
  server: 'https://127.0.0.1:1',
  skipsVerification: false,
  user: { provider: { authProvider: { name: 'gcp', config } } },
});

test('a bundle asks the providers of a kubeconfig, without the generated client', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-bundle-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { files, packageFolders } = await bundleApp(ROOT, { entry: ENTRY });
  expect(packageFolders).toContain('node_modules/@kubernetes/client-node');
  expect(packageFolders.every((folder) => folder.startsWith('node_modules/'))).toBe(true);
  expect(files.map(({ path }) => path)).toEqual(['app/main.mjs']);
  const [{ content } = { content: '' }] = files;
  if (typeof content === 'string' || !('bytes' in content)) throw new Error('the bundle has no bytes');
  expect(String(content.bytes)).not.toContain('CoreV1Api');
  await writeFile(join(folder, 'main.mjs'), content.bytes);
  const { credentialProvider } = await import(pathToFileURL(join(folder, 'main.mjs')).href);
  const given = await credentialProvider(access({ 'access-token': 'a-token', expiry: '2999-01-01T00:00:00Z' }))();
  expect(given).toEqual({ headers: { authorization: 'Bearer a-token' } });
  await expect(credentialProvider(access({}))()).rejects.toThrow('Token is expired!');
});
