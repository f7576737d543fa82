import { errorMessage, KubeObject, type Ref, refKey, resource } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { ServiceError, ServiceErrorCode } from '@flotilla/http';
import { type Client, type Clock, requestToken } from '@flotilla/runtime';
import { z } from 'zod';
import { kept, keptByKey } from './kept.ts';

/** Addresses and credentials of the cluster's monitoring. */
export interface MonitoringAccess {
  /** `https://<service>.<namespace>.svc.cluster.local:<port>`. */
  url(service: ServiceEntry): Promise<URL>;
  /** The same; undefined where the cluster has no such Service. */
  find(service: ServiceEntry): Promise<URL | undefined>;
  /** PEM of the authority that signs services' certificates. */
  readonly ca: () => Promise<string | undefined>;
  /** `Bearer …`; a new token when the last one was refused. */
  readonly authorize: (refused: boolean) => Promise<string>;
}

/** A port of a Service. */
export interface ServiceEntry {
  readonly ref: Required<Ref>;
  /** Name of the port. */
  readonly port: string;
  readonly scheme: 'http' | 'https';
}

interface MonitoringOptions {
  readonly client: Pick<Client, 'get' | 'request'>;
  readonly clock: Clock;
  /** Milliseconds that addresses and authorities are used without reading them again. Default 300 000. */
  readonly keepMs?: number;
}

const MONITORING = 'openshift-monitoring';
/** Services of the cluster that an upgrade asks (spec/muo 7.1, 8.7, 8.8). */
export const SERVICES = {
  prometheus: { ref: { namespace: MONITORING, name: 'prometheus-k8s' }, port: 'web', scheme: 'https' },
  alertmanager: { ref: { namespace: MONITORING, name: 'alertmanager-main' }, port: 'web', scheme: 'https' },
  deploymentValidation: {
    ref: { namespace: 'openshift-deployment-validation-operator', name: 'deployment-validation-operator-metrics' },
    port: 'http-metrics',
    scheme: 'http',
  },
} as const satisfies Readonly<Record<string, ServiceEntry>>;

const AUTHORITY = { namespace: MONITORING, name: 'serving-certs-ca-bundle' };
const ACCOUNT = { namespace: MONITORING, name: 'prometheus-k8s' };
const TOKEN_SECONDS = 86_400;

const Service = resource(
  'v1',
  'Service',
  'services',
  true,
  KubeObject.extend({
    spec: z.looseObject({ ports: z.array(z.looseObject({ name: z.string().default(''), port: z.int() })).default([]) }).prefault({}),
  }),
);

/**
 * Access to the cluster's monitoring, kept per process. The token is requested for the ServiceAccount of Prometheus, never looked for in
 * Secrets: reading those of the namespace would be a right to everything in it.
 */
export function createMonitoringAccess({ client, clock, keepMs = 300_000 }: MonitoringOptions): MonitoringAccess {
  const portOf = keptByKey({ clock, keepMs }, (service: ServiceEntry) => readPort(client, service));
  const ca = kept({ clock, keepMs }, () => readAuthority(client));
  let token = keptToken(client, clock);
  const find = async (service: ServiceEntry): Promise<URL | undefined> => {
    const port = await portOf(service);
    return port === undefined
      ? undefined
      : new URL(`${service.scheme}://${service.ref.name}.${service.ref.namespace}.svc.cluster.local:${port}`);
  };
  return {
    ca,
    find,
    async url(service) {
      const found = await find(service);
      if (!found) throw missing(`Service ${refKey(service.ref)} is missing`);
      return found;
    },
    async authorize(refused) {
      if (refused) token = keptToken(client, clock);
      return `Bearer ${await token()}`;
    },
  };
}

/** Four fifths of a token's life: one that ends during a call costs the call. */
const keptToken = (client: Pick<Client, 'request'>, clock: Clock): (() => Promise<string>) =>
  kept({ clock, keepMs: TOKEN_SECONDS * 800 }, () =>
    requestToken(client, ACCOUNT, TOKEN_SECONDS).catch((cause: unknown) => {
      throw missing(`no token of ServiceAccount ${refKey(ACCOUNT)}`, cause);
    }),
  );

async function readPort(client: Pick<Client, 'get'>, { ref, port }: ServiceEntry): Promise<number | undefined> {
  const service = await client.get(Service, ref).catch((cause: unknown) => {
    throw missing(`Service ${refKey(ref)} cannot be read`, cause);
  });
  if (!service) return undefined;
  const found = service.spec.ports.find(({ name }) => name === port);
  if (!found) throw missing(`Service ${refKey(ref)} has no port named ${port}`);
  return found.port;
}

/** Undefined where the cluster has none: then the system's authorities alone count. */
async function readAuthority(client: Pick<Client, 'get'>): Promise<string | undefined> {
  const bundle = await client.get(ConfigMap, AUTHORITY).catch((cause: unknown) => {
    throw missing(`ConfigMap ${refKey(AUTHORITY)} cannot be read`, cause);
  });
  return bundle?.data?.['service-ca.crt'] || undefined;
}

const missing = (what: string, cause?: unknown): ServiceError =>
  new ServiceError(ServiceErrorCode.notConfigured, cause === undefined ? what : `${what}: ${errorMessage(cause)}`, { cause });
