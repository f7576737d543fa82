import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { hubAddress } from './agent-secret.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-agent-secret-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes a kubeconfig of the hub with this cluster. */
async function kubeconfig(cluster: Record<string, unknown>): Promise<string> {
  const path = join(folder, 'hub.json');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster }],
    users: [{ name: 'me', user: { token: 't' } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'me' } }],
    'current-context': 'hub',
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

async function authority(): Promise<string> {
  const path = join(folder, 'ca.pem');
  await writeFile(path, '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n');
  return path;
}

test.each([
  { name: 'a hub that is not https', cluster: { server: 'http://hub.test' }, message: /http:\/\/hub\.test is not https.*--hub-server/ },
  {
    name: 'a hub whose certificate nobody verifies',
    cluster: { server: 'https://hub.test', 'insecure-skip-tls-verify': true },
    message: /does not verify the hub's certificate.*--hub-ca/,
  },
])('an agent is not sent to $name', async ({ cluster, message }) => {
  const refusal = { code: 'FLOTILLA_CONFIG', message: expect.stringMatching(message) };
  await expect(hubAddress({ hubKubeconfig: await kubeconfig(cluster) })).rejects.toMatchObject(refusal);
});

test('an address that is named for agents counts, and has to be https too', async () => {
  const hubKubeconfig = await kubeconfig({ server: 'http://inside.test' });
  await expect(hubAddress({ hubKubeconfig, hubServer: 'http://hub.test' })).rejects.toMatchObject({ code: 'FLOTILLA_CONFIG' });
  expect(await hubAddress({ hubKubeconfig, hubServer: 'https://hub.test//' })).toMatchObject({ server: 'https://hub.test' });
});

test('an authority that is named lets an agent verify what the administrator does not', async () => {
  const hubKubeconfig = await kubeconfig({ server: 'https://hub.test', 'insecure-skip-tls-verify': true });
  const address = await hubAddress({ hubKubeconfig, hubCa: await authority() });
  expect(address).toMatchObject({ server: 'https://hub.test', skipsVerification: false });
  expect(address.certificateAuthority).toBeDefined();
});

test('files are those of whoever typed the command, also where npm runs it in another folder', async () => {
  await kubeconfig({ server: 'https://hub.test' });
  await authority();
  vi.stubEnv('INIT_CWD', folder);
  try {
    const address = await hubAddress({ hubKubeconfig: 'hub.json', hubCa: 'ca.pem' });
    expect(address).toMatchObject({ server: 'https://hub.test', certificateAuthority: expect.any(String) });
  } finally {
    vi.unstubAllEnvs();
  }
});
