import { z } from 'zod';

/** An upgrade policy as a test sets it; `next_run` as the API has it. */
export interface ManagedPolicy {
  readonly id: string;
  readonly version: string;
  readonly next_run: string;
  readonly capacity_reservation?: boolean;
}

/** Everything the manager knows. */
export interface ManagerState {
  readonly clusterId: string;
  readonly externalId: string;
  token: string;
  known: boolean;
  readonly channelGroup: string;
  readonly drainMinutes: number;
  policies: ManagedPolicy[];
  readonly states: Map<string, { value: string; description: string }>;
  readonly written: string[];
  readonly serviceLogs: Record<string, unknown>[];
  /** Posting time of each service log, by the manager's clock. */
  readonly serviceLogTimes: string[];
}

/** An answer of the API. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

const CLUSTERS = '/api/clusters_mgmt/v1/clusters';
const LOGS = '/api/service_logs/v1/cluster_logs';
const PolicyState = z.object({ kind: z.literal('UpgradePolicyState'), value: z.string(), description: z.string() });

/** A refusal as the API words it. */
export const refusal = (status: number, reason: string): Answer => ({
  status,
  body: {
    kind: 'Error',
    id: String(status),
    href: `/api/errors/${status}`,
    code: `CLUSTERS-MGMT-${status}`,
    reason,
    operation_id: 'operation-1',
  },
});

/** Answers as the endpoints of spec/muo 8.4 do, and as the agent in a cluster does at `/` (8.5). */
export function answerTo(state: ManagerState, { method, path, body }: Asked): Answer {
  const url = new URL(path, 'http://manager');
  const [, policyId] = /^\/upgrade_policies\/([^/]+)\/state$/.exec(policyPart(state, url)) ?? [];
  if (method === 'GET' && url.pathname === '/') return { status: 200, body: clusterOf(state) };
  if (method === 'GET' && url.pathname === CLUSTERS) return { status: 200, body: findClusters(state, url) };
  if (method === 'GET' && policyPart(state, url) === '/upgrade_policies')
    return { status: 200, body: page(state.policies.map(policyOf), url) };
  if (policyId !== undefined) return answerPolicyState(state, { method, policyId: decodeURIComponent(policyId), body });
  if (url.pathname === LOGS) return answerLogs(state, method, { url, body });
  return refusal(404, `Can't find ${method} ${url.pathname}`);
}

const policyPart = ({ clusterId }: ManagerState, { pathname }: URL): string => {
  const prefix = `${CLUSTERS}/${clusterId}`;
  return pathname.startsWith(prefix) ? pathname.slice(prefix.length) : '';
};

const clusterOf = ({ clusterId, externalId, channelGroup, drainMinutes }: ManagerState) => ({
  kind: 'Cluster',
  id: clusterId,
  external_id: externalId,
  version: { id: 'openshift-v4', channel_group: channelGroup },
  node_drain_grace_period: { value: drainMinutes, unit: 'minutes' },
});

function findClusters(state: ManagerState, url: URL) {
  const isFound = state.known && url.searchParams.get('search') === `external_id = '${state.externalId}'`;
  return page(isFound ? [clusterOf(state)] : [], url);
}

const policyOf = (policy: ManagedPolicy) => ({ kind: 'UpgradePolicy', schedule_type: 'manual', upgrade_type: 'OSD', ...policy });

function page(items: readonly unknown[], { searchParams }: URL) {
  const [number, size] = [Number(searchParams.get('page') ?? 1), Math.min(100, Number(searchParams.get('size') ?? 100))];
  const shown = items.slice((number - 1) * size, number * size);
  return { kind: 'List', page: number, size: shown.length, total: items.length, items: shown };
}

function answerPolicyState(state: ManagerState, { method, policyId, body }: { method: string; policyId: string; body: unknown }): Answer {
  const current = state.states.get(policyId);
  if (!current || !state.policies.some(({ id }) => id === policyId)) return refusal(404, `Upgrade policy '${policyId}' not found`);
  if (method === 'GET') return { status: 200, body: { kind: 'UpgradePolicyState', ...current } };
  const next = PolicyState.safeParse(body);
  if (method !== 'PATCH' || !next.success) return refusal(400, 'Bad upgrade policy state');
  const { value, description } = next.data;
  state.states.set(policyId, { value, description });
  state.written.push(`${policyId}: ${value}`);
  return { status: 200, body: { kind: 'UpgradePolicyState', value, description } };
}

const ServiceLog = z.looseObject({ kind: z.literal('LogEntry'), summary: z.string(), description: z.string(), cluster_id: z.string() });

function answerLogs(state: ManagerState, method: string, { url, body }: { url: URL; body: unknown }): Answer {
  if (method === 'GET') {
    const [, wanted] = /summary = '([^']*)'/.exec(url.searchParams.get('search') ?? '') ?? [];
    return {
      status: 200,
      body: page(
        state.serviceLogs
          .map((log, index) => ({ ...log, timestamp: state.serviceLogTimes[index], created_at: state.serviceLogTimes[index] }))
          .filter((log) => wanted === undefined || ('summary' in log && log.summary === wanted)),
        url,
      ),
    };
  }
  const log = ServiceLog.safeParse(body);
  if (method !== 'POST' || !log.success) return refusal(400, 'Bad log entry');
  state.serviceLogs.push(log.data);
  state.serviceLogTimes.push(new Date().toISOString());
  return { status: 201, body: { id: String(state.serviceLogs.length), ...log.data } };
}
