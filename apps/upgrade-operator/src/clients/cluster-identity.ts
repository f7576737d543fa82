import { errorMessage, foreign, readJson } from '@flotilla/api';
import { Secret } from '@flotilla/api/core';
import { ServiceError, ServiceErrorCode } from '@flotilla/http';
import type { Client, Clock } from '@flotilla/runtime';
import { z } from 'zod';
import { kept } from './kept.ts';
import type { ClusterIdentity } from './ocm.ts';

interface IdentityOptions {
  readonly client: Pick<Client, 'get'>;
  /** `spec.clusterID` of the ClusterVersion; undefined while it is not known. */
  readonly clusterId: () => string | undefined;
  readonly clock: Clock;
}

/** Milliseconds a pull secret is used without reading it again; one that is refused is read at once. */
const KEEP_MS = 600_000;
const PULL_SECRET = { namespace: 'openshift-config', name: 'pull-secret' };
const REGISTRY = 'cloud.openshift.com';
const DockerConfig = foreign(z.looseObject({ auths: z.record(z.string(), z.looseObject({ auth: z.string().optional() })) }));

/** The cluster's identity for OCM, read once and kept. Its messages never hold the credential. */
export function createClusterIdentity({ client, clusterId, clock }: IdentityOptions): (refused: boolean) => Promise<ClusterIdentity> {
  const keep = () => kept({ clock, keepMs: KEEP_MS }, () => readToken(client));
  let token = keep();
  return async (refused) => {
    const id = clusterId();
    if (!id) throw missing('the ClusterVersion named version has no spec.clusterID');
    if (refused) token = keep();
    return { clusterId: id, token: await token() };
  };
}

async function readToken(client: Pick<Client, 'get'>): Promise<string> {
  const where = `Secret ${PULL_SECRET.namespace}/${PULL_SECRET.name}`;
  const secret = await client.get(Secret, PULL_SECRET).catch((cause: unknown) => {
    throw missing(`${where} cannot be read: ${errorMessage(cause)}`, cause);
  });
  if (!secret) throw missing(`${where} is missing`);
  const text = Buffer.from(secret.data?.['.dockerconfigjson'] ?? '', 'base64').toString('utf8');
  // A parser's message would quote what it stumbled over.
  const auth = DockerConfig.safeParse(readJson(text)).data?.auths[REGISTRY]?.auth;
  if (!auth) throw missing(`${where} has no auths["${REGISTRY}"].auth in .dockerconfigjson`);
  return auth;
}

const missing = (why: string, cause?: unknown): ServiceError =>
  new ServiceError(ServiceErrorCode.notConfigured, `failed to retrieve cluster access token: ${why}`, { cause });
