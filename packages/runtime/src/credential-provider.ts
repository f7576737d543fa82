import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { ClusterAccess } from './kubeconfig-file.ts';

/** Credential from a program or a provider. */
export interface Provided {
  readonly headers: Readonly<Record<string, string>>;
  readonly cert?: string;
  readonly key?: string;
}

/** Asks the provider of a kubeconfig's user; its credential is given again until it runs out. */
export function credentialProvider({ server, skipsVerification, user: { provider } }: ClusterAccess): () => Promise<Provided> {
  const config = new KubeConfig();
  const [cluster, user, context] = ['cluster', 'user', 'context'];
  config.loadFromOptions({
    clusters: [{ name: cluster, server, skipTLSVerify: skipsVerification }],
    users: [{ name: user, authProvider: provider?.authProvider }],
    contexts: [{ name: context, cluster, user }],
    currentContext: context,
  });
  return async () => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    const headers = Object.entries(options.headers ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), String(value).trim()] as const],
    );
    return { headers: Object.fromEntries(headers), ...textOf('cert', options.cert), ...textOf('key', options.key) };
  };
}

const textOf = (name: 'cert' | 'key', part: unknown) => (typeof part === 'string' ? { [name]: part } : {});
