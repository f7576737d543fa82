/** Kubeconfigs that go wrong in the ways that people report, and the servers that they lead to. */
import { once } from 'node:events';
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ApiServer } from '@flotilla/control-plane/servers';
import { makeChain } from '@flotilla/http/testing';
import { z } from 'zod';

const Working = z.object({
  clusters: z.tuple([z.object({ cluster: z.record(z.string(), z.unknown()) })]),
  users: z.tuple([z.object({ user: z.object({ token: z.string() }) })]),
});

/** A registry that lets nobody see `private`, and has nothing else. */
const emptyRegistry: RequestListener = ({ url = '' }, response) => void response.writeHead(url.includes('private') ? 401 : 404).end();

const LOGIN_PAGE = `<html><body>${'<p>Log in</p>'.repeat(500)}</body></html>`;

/** An API server that has no upgrades, and every namespace; below `/login` a page of a proxy. */
const emptyHub: RequestListener = ({ url = '' }, response) => {
  if (url.startsWith('/login')) return void response.setHeader('content-type', 'text/html').end(LOGIN_PAGE);
  const list = { apiVersion: 'ran.openshift.io/v1alpha1', kind: 'ClusterGroupUpgradeList', metadata: {}, items: [] };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(url.includes('clustergroupupgrades') ? list : namespace));
};

interface Odd extends AsyncDisposable {
  /** Host and port of the registry that has nothing. */
  readonly registry: string;
}

/** Writes the kubeconfigs into a folder, each by the name of its mistake. */
export async function writeOddKubeconfigs(server: ApiServer, folder: string): Promise<Odd> {
  const chain = makeChain();
  const registry = createServer(emptyRegistry).listen(0, '127.0.0.1');
  const secure = createSecureServer({ cert: chain.leaf + chain.issuing, key: chain.key }, emptyHub).listen(0, '127.0.0.1');
  for (const each of [registry, secure]) if (!each.listening) await once(each, 'listening');
  const portOf = (each: typeof registry | typeof secure): number => (each.address() as AddressInfo).port;

  const { clusters, users } = Working.parse(JSON.parse(await readFile(server.kubeconfig, 'utf8')));
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  const write = async (name: string, parts: { cluster?: object; user?: object }) =>
    await writeFile(
      join(folder, name),
      JSON.stringify({
        ...(parts.cluster && { clusters: [{ name: 'c', cluster: parts.cluster }] }),
        ...(parts.user && { users: [{ name: 'u', user: parts.user }] }),
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );
  await write('cluster', { cluster });
  await write('user', { user });
  await copyFile(await server.kubeconfigFor('stranger'), join(folder, '403'));
  await write('plain-http', { cluster: { server: `http://127.0.0.1:${portOf(registry)}` }, user });
  const secured = `https://localhost:${portOf(secure)}`;
  await write('self-signed', { cluster: { server: secured }, user });
  const trusted = { 'certificate-authority-data': Buffer.from(chain.issuing).toString('base64') };
  await write('issuing-ca-only', { cluster: { server: secured, ...trusted }, user });
  await write('login-page', { cluster: { server: `${secured}/login`, ...trusted }, user });
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: user };
  const plugins = {
    fails: 'echo "token expired: run corp login" >&2; exit 7',
    'no-json': 'echo sesame',
    // A notice comes after two seconds.
    slow: `sleep 2.5; echo '${JSON.stringify(credential)}'`,
    'writes-stderr': `echo "open https://login.example" >&2; echo '${JSON.stringify(credential)}'`,
  };
  for (const [name, script] of Object.entries(plugins)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  for (const name of [...Object.keys(plugins), 'missing'])
    await write(`exec-${name}`, { cluster, user: { exec: { apiVersion: credential.apiVersion, command: join(folder, name) } } });

  return {
    registry: `127.0.0.1:${portOf(registry)}`,
    async [Symbol.asyncDispose]() {
      for (const each of [registry, secure]) {
        each.closeAllConnections();
        each.close();
        await once(each, 'close');
      }
    },
  };
}
