import type { SourceGraph } from '../../tools/src/source-graph.ts';

/** Names by which Node sends a request or holds connections; the others are types and servers. */
const OF_NODE = ['request', 'get', 'Agent', 'globalAgent'];
/** The one name of undici that sends nothing. */
const TYPE_OF_UNDICI = 'Dispatcher';

/** Sources of apps and packages, without tests, that send requests by themselves. */
export function httpClients({ modules }: SourceGraph): string[] {
  const sends = ({ to, names }: { readonly to: string; readonly names?: readonly string[] | undefined }): boolean => {
    if (to === 'undici') return names === undefined || names.some((name) => name !== TYPE_OF_UNDICI);
    return /^node:https?2?$/.test(to) && (names === undefined || names.some((name) => OF_NODE.includes(name)));
  };
  return [...modules].filter(([file, { imports }]) => isShipped(file) && imports.some(sends)).map(([file]) => file);
}

/** Names by which Node trusts certificates of a server. */
const TRUST_OF_NODE = ['connect', 'createSecureContext', 'SecureContext'];

/** Sources of apps and packages, without tests, that choose by themselves which certificates they trust. */
export function trustingClients({ modules }: SourceGraph): string[] {
  const trusts = ({ to, names }: { readonly to: string; readonly names?: readonly string[] | undefined }): boolean =>
    to === 'node:tls' && (names === undefined || names.some((name) => TRUST_OF_NODE.includes(name)));
  return [...modules].filter(([file, { imports }]) => isShipped(file) && imports.some(trusts)).map(([file]) => file);
}

const isShipped = (file: string): boolean => /^(apps|packages\/(?!control-plane\/))[^/]*\/.*src\//.test(file) && !file.includes('.test.');
