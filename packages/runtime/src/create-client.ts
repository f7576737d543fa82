import { refKey } from '@flotilla/api';
import type { Client, InvalidObject } from './client.ts';
import { Connection } from './connection.ts';
import { type KubeconfigSource, loadKubeconfig } from './kubeconfig.ts';
import type { ClusterAccess } from './kubeconfig-file.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { invalidKey, RestClient, type RestClientOptions } from './rest-client.ts';
import { type Call, Transport } from './transport.ts';

interface ClientOptions extends KubeconfigSource {
  /** Default `flotilla`. */
  readonly userAgent?: string;
  readonly logger?: Logger;
  /** Counts the requests. */
  readonly metrics?: Metrics;
  /** HTTP proxy towards the server, when the kubeconfig names none. Default: none. */
  readonly proxy?: string;
  /** User to act as (`Impersonate-User`), whose rights then count; default: the kubeconfig's own. */
  readonly actAs?: string | undefined;
  /** Groups of that user; default: the server's own. */
  readonly actAsGroups?: readonly string[] | undefined;
  /** Uid of that user. */
  readonly actAsUid?: string | undefined;
  /** Milliseconds for a call that names none; default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** A person is there who may have to log in: the time-out of a call begins once there are credentials. Default false. */
  readonly waitsForLogin?: boolean;
  /** Replaces the log line for objects that their schema refuses. */
  readonly onInvalid?: (invalid: InvalidObject) => void;
  /** Milliseconds without an event or a bookmark after which a watch ends, as if the server had ended it; default 150 000. */
  readonly watchIdleMs?: number;
}

const REPORTED = 1_000;

/**
 * A client for the server of a kubeconfig (path or text), or in a pod of the cluster it runs in. Opens no connection yet. A file is
 * read again every 30 s and after a 401, for its credentials; the server stays the one it named first.
 * Throws `FLOTILLA_KUBECONFIG_INVALID` when the source cannot be used. Close it, or its connections keep the process alive.
 */
export function createClient(options: ClientOptions = {}): Client {
  const access = loadKubeconfig(options);
  const { server } = access;
  const exchange = new Transport({
    server,
    connection: new Connection(access, options.proxy, options.kubeconfigPath === undefined ? undefined : () => reload(options, server)),
    userAgent: options.userAgent ?? 'flotilla',
    actAs: options.actAs,
    actAsGroups: options.actAsGroups,
    actAsUid: options.actAsUid,
    timeoutMs: options.timeoutMs,
    waitsForLogin: options.waitsForLogin,
    onAnswer: options.metrics && countRequests(options.metrics),
  });
  const { onInvalid = logOnce(options.logger), watchIdleMs } = options;
  return new RestClient({ server, exchange, onInvalid, watchIdleMs });
}

/** A client whose calls are carried by `exchange` instead of a connection. */
export const createClientOver = (options: Omit<RestClientOptions, 'onInvalid'> & { readonly logger?: Logger }): Client =>
  new RestClient({ ...options, onInvalid: logOnce(options.logger) });

/** Nothing when the file names another server by now: its credentials are not for the one we talk to. */
function reload(options: ClientOptions, server: string): ClusterAccess | undefined {
  const next = loadKubeconfig(options);
  if (next.server === server) return next;
  options.logger?.warn({ server, named: next.server }, 'Kubeconfig names another server now, start the program again to use it');
  return undefined;
}

/** Logs each version of an invalid object once. */
export function logOnce(logger: Logger | undefined): (invalid: InvalidObject) => void {
  const reported = new Set<string>();
  return (invalid) => {
    const key = invalidKey(invalid);
    if (reported.has(key)) return;
    if (reported.size >= REPORTED) reported.clear();
    reported.add(key);
    logger?.warn(
      { kind: invalid.kind, object: refKey(invalid.ref), resourceVersion: invalid.resourceVersion, err: invalid.error },
      'Skipping an invalid object',
    );
  };
}

/** `/apis/g/v/namespaces/x/jobs/y/status` → `jobs`; paths that are no resources count as `other`. */
export function resourceOf(path: string): string {
  const [, root, ...rest] = (path.split('?', 1)[0] ?? '').split('/');
  const parts = root === 'api' ? rest.slice(1) : root === 'apis' ? rest.slice(2) : [];
  const inNamespace = parts[0] === 'namespaces' && parts.length > 2;
  return (inNamespace ? parts[2] : parts[0]) ?? 'other';
}

const countRequests =
  (metrics: Metrics) =>
  (call: Call, status: number, seconds: number): void => {
    const labels = { verb: call.path.includes('watch=true') ? 'WATCH' : call.method, resource: resourceOf(call.path) };
    metrics.apiRequests.inc({ ...labels, code: String(status) });
    metrics.apiRequestSeconds.observe(labels, seconds);
  };
