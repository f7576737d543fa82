import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { bundleApp } from './app-bundle.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const ENTRY = 'packages/runtime/src/credential-provider.ts';

/** Access to a cluster whose kubeconfig asks a program for its token. */
const access = (command: string, ...args: string[]) => ({
  server: 'https://127.0.0.1:1',
  skipsVerification: false,
  user: { provider: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, args, interactiveMode: 'Never' } } },
});

test('a bundle asks the programs of a kubeconfig, without the generated client', async () => {
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
  const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'a-token' } };
  expect(await credentialProvider(access('echo', JSON.stringify(answer)))()).toEqual({ headers: { authorization: 'Bearer a-token' } });
  await expect(credentialProvider(access('no-such-program'))()).rejects.toThrow('no-such-program');
});
