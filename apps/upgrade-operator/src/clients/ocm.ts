import { errorMessage, FlotillaError, foreign, readJson } from '@flotilla/api';
import { Secret } from '@flotilla/api/core';
import { createHttp, type HttpCall, type HttpSurroundings, parseJson, ServiceError, ServiceErrorCode } from '@flotilla/http';
import type { Client, Clock } from '@flotilla/runtime';
import { z } from 'zod';
import { kept } from './kept.ts';
import {
  OcmCluster,
  type OcmPolicy,
  OcmPolicyOrProblem,
  OcmPolicyState,
  OcmRefusal,
  OcmServiceLog,
  pageOf,
  type ServiceLog,
} from './ocm-answers.ts';

/** Identity of this cluster in OCM. */
interface ClusterIdentity {
  /** `spec.clusterID` of the ClusterVersion. */
  readonly clusterId: string;
  /** The pull secret's credential for cloud.openshift.com, as it stands there. */
  readonly token: string;
}

/** OCM knows no cluster of this id, or more than one. Code `FLOTILLA_OCM_CLUSTER_UNKNOWN`. */
export class ClusterUnknownError extends FlotillaError {
  constructor() {
    super(
      'FLOTILLA_OCM_CLUSTER_UNKNOWN',
      "OCM did not return a valid cluster ID: pull-secret may be invalid OR cluster's owner is disabled/banned in OCM",
    );
  }
}

/** Options of the OCM client. */
export interface OcmOptions extends HttpSurroundings {
  /** `configManager.ocmBaseUrl`. */
  readonly baseUrl: string;
  /** Read anew when `refused`: the last one was answered with 401. */
  readonly identity: (refused: boolean) => Promise<ClusterIdentity>;
}

/** OpenShift Cluster Manager, or its agent in the cluster. `clusterId` is OCM's own, of `cluster()`. */
export interface OcmClient extends AsyncDisposable {
  /** @throws ClusterUnknownError */
  cluster(signal?: AbortSignal): Promise<OcmCluster>;
  /** All pages; those that cannot be read have a `problem`. */
  policies(clusterId: string, signal?: AbortSignal): Promise<OcmPolicy[]>;
  policyState(clusterId: string, policyId: string, signal?: AbortSignal): Promise<OcmPolicyState>;
  setPolicyState(clusterId: string, policyId: string, state: OcmPolicyState, signal?: AbortSignal): Promise<void>;
  /** Posts it, unless the same was posted since: a process may have died after it had posted it. */
  ensureServiceLog(clusterId: string, log: ServiceLog, how?: ServiceLogOptions): Promise<void>;
}

interface ServiceLogOptions {
  /** Start of the upgrade that it is about: whatever was posted before is another one's. Default: any time. */
  readonly since?: string | undefined;
  readonly signal?: AbortSignal;
}

const AGENT = 'ocm-agent.openshift-ocm-agent-operator.svc.cluster.local:8081';
const CLUSTERS = '/api/clusters_mgmt/v1/clusters';
const LOGS = '/api/service_logs/v1/cluster_logs';
const PAGE = 100;
/** Policies of one cluster beyond this are nobody's intention. */
const MAX_PAGES = 20;
/** OCM's front door knows the operator by it. */
const USER_AGENT = `managed-upgrade-operator/v1.0.0 (${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch})`;

/** True for the address of the agent in the cluster, which knows only this cluster and keeps the service's credentials. */
export const isOcmAgent = (baseUrl: string): boolean => baseUrl.includes(AGENT);

/** Opens OCM, or its agent when the address is the agent's. Nothing is sent before the first call. */
export function createOcm(options: OcmOptions): OcmClient {
  const agent = isOcmAgent(options.baseUrl);
  const http = createHttp({
    ...options,
    name: agent ? 'OCM agent' : 'OCM',
    userAgent: USER_AGENT,
    reword: inOcmWords,
    authorize: async (refused) => {
      const { clusterId, token } = await options.identity(refused);
      return `AccessToken ${clusterId}:${token}`;
    },
  });
  const urlOf = (path: string, query: Readonly<Record<string, string>> = {}): URL => {
    const url = new URL(`${options.baseUrl.replace(/\/$/, '')}${path}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return url;
  };
  const read = <T>(schema: z.ZodType<T>, url: URL, signal: AbortSignal | undefined) => http.json(schema, { method: 'GET', url, signal });
  const policyPath = (clusterId: string, policyId: string) => `${policiesPath(clusterId)}/${encodeURIComponent(policyId)}/state`;

  return {
    async cluster(signal) {
      const found = agent ? await read(OcmCluster, urlOf('/'), signal) : await findCluster(signal);
      if (!found?.id) throw new ClusterUnknownError();
      return found;
    },
    async policies(clusterId, signal) {
      const all: OcmPolicy[] = [];
      for (let page = 1; page <= MAX_PAGES; page++) {
        const url = urlOf(policiesPath(clusterId), { page: String(page), size: String(PAGE) });
        const { total, items } = await read(pageOf(OcmPolicyOrProblem), url, signal);
        all.push(...items);
        if (items.length === 0 || all.length >= total) break;
      }
      return all;
    },
    policyState: (clusterId, policyId, signal) => read(OcmPolicyState, urlOf(policyPath(clusterId, policyId)), signal),
    async setPolicyState(clusterId, policyId, { value, description }, signal) {
      const body = { kind: 'UpgradePolicyState', value, description };
      await http.send({ method: 'PATCH', url: urlOf(policyPath(clusterId, policyId)), body, signal });
    },
    async ensureServiceLog(clusterId, log, { since, signal } = {}) {
      if (!agent && (await isLogged(clusterId, log, { since, signal }))) return;
      const body = serviceLogBody(clusterId, agent ? { ...log, docReferences: undefined } : log);
      await http.send({ method: 'POST', url: urlOf(LOGS), body, signal });
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };

  /** Looks for the same log in OCM. A log that cannot be looked up is posted: better twice than never. */
  async function isLogged(clusterId: string, log: ServiceLog, { since, signal }: ServiceLogOptions): Promise<boolean> {
    const search = `cluster_id = '${clusterId}' and summary = '${log.summary}'`;
    const query = { search, order: 'timestamp desc', page: '1', size: String(PAGE) };
    const from = since === undefined ? undefined : Date.parse(since);
    const isOfThis = ({ timestamp, created_at }: z.output<typeof OcmServiceLog>) =>
      from === undefined || Date.parse(timestamp ?? created_at ?? '') >= from;
    try {
      const { items } = await read(pageOf(OcmServiceLog), urlOf(LOGS, query), signal);
      return items.some((item) => item.summary === log.summary && item.description === log.description && isOfThis(item));
    } catch (error) {
      if (error instanceof ServiceError && (error.status === 403 || error.status === 404 || error.status === 405)) return false;
      throw error;
    }
  }

  async function findCluster(signal: AbortSignal | undefined): Promise<OcmCluster | undefined> {
    const { clusterId } = await options.identity(false);
    const query = { search: `external_id = '${clusterId.replaceAll("'", "''")}'`, size: '1' };
    const { total, items } = await read(pageOf(OcmCluster), urlOf(CLUSTERS, query), signal);
    return total === 1 ? items[0] : undefined;
  }
}

const policiesPath = (clusterId: string): string => `${CLUSTERS}/${encodeURIComponent(clusterId)}/upgrade_policies`;

const serviceLogBody = (clusterId: string, { summary, description, docReferences }: ServiceLog) => ({
  kind: 'LogEntry',
  severity: 'Info',
  internal_only: false,
  service_name: 'RedHat Managed Upgrade Notifications',
  log_type: 'Cluster Updates',
  summary,
  description,
  cluster_id: clusterId,
  ...(docReferences && { doc_references: docReferences }),
});

/** A refusal as OCM's clients word it: conditions are compared by it. */
function inOcmWords(error: ServiceError, { url }: HttpCall): string | undefined {
  const refusal = error.status > 0 ? readRefusal(error) : undefined;
  if (!refusal) return undefined;
  const { id, code, reason, operation_id: operation } = refusal;
  const said = `status is ${error.status}, identifier is '${id}' and code is '${code}': ${reason}`;
  return `request to '${url.origin}${url.pathname}' returned error '${said}'${operation && ` (operation ${operation})`}`;
}

function readRefusal({ words, status }: ServiceError) {
  try {
    return parseJson(OcmRefusal, words, { what: 'refusal', status });
  } catch (error) {
    if (error instanceof ServiceError && error.code === ServiceErrorCode.badAnswer) return undefined;
    throw error;
  }
}

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
