import { readFile } from 'node:fs/promises';
import { errorMessage, FlotillaError, type KubeObject } from '@flotilla/api';
import { readServerAddress, type ServerAddress } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import type { JoinOptions } from './options.ts';

/** Name of the Secret on the spoke, and the key of the kubeconfig in it. */
export const SECRET = 'flotilla-hub';
export const SECRET_KEY = 'kubeconfig';

/** Address of the hub for the agent. Throws `FLOTILLA_CONFIG` when the agent could not tell the hub from another server. */
export async function hubAddress(
  options: Pick<JoinOptions, 'hubKubeconfig' | 'hubContext' | 'hubServer' | 'hubCa'>,
): Promise<ServerAddress> {
  const own = readServerAddress({ kubeconfigPath: callersPath(options.hubKubeconfig), context: options.hubContext });
  const server = options.hubServer?.replace(/(?<!\/)\/+$/, '') ?? own.server;
  if (!/^https:/i.test(server))
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      `the hub's address ${server} is not https, so the agent's token would cross the network in the clear: name the https address with --hub-server`,
    );
  if (options.hubCa !== undefined) return { server, certificateAuthority: await readAuthority(options.hubCa), skipsVerification: false };
  if (own.skipsVerification)
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      `--hub-kubeconfig ${options.hubKubeconfig} does not verify the hub's certificate, which an agent must: name its authority with --hub-ca`,
    );
  return { ...own, server };
}

async function readAuthority(path: string): Promise<string> {
  const text = await readFile(callersPath(path), 'utf8').catch((error: unknown) => {
    throw new FlotillaError('FLOTILLA_CONFIG', `--hub-ca ${path} cannot be read: ${errorMessage(error)}`);
  });
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new FlotillaError('FLOTILLA_CONFIG', `--hub-ca ${path} holds no certificate: expected PEM`);
  return Buffer.from(text).toString('base64');
}

/** Renders the agent's kubeconfig for the hub as JSON: the agent reads and writes it when it renews the token. */
export const renderKubeconfig = ({ server, certificateAuthority }: ServerAddress, name: string, token: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster: { server, ...(certificateAuthority && { 'certificate-authority-data': certificateAuthority }) } }],
    users: [{ name, user: { token } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: name, namespace: name } }],
    'current-context': 'hub',
  });

/** Builds namespace and Secret on the spoke. */
export const secretObjects = (namespace: string, kubeconfig: string): [namespace: KubeObject, secret: KubeObject] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  // With `data` a server-side apply owns the same field that the agent changes later.
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: SECRET, namespace },
    type: 'Opaque',
    data: { [SECRET_KEY]: Buffer.from(kubeconfig).toString('base64') },
  },
];
