/** A cluster with everything around it that an upgrade leaves a trace in, and an operator that is killed and started again. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { configCrds } from '@flotilla/api/config';
import { ConfigMap, Lease, Namespace, Secret } from '@flotilla/api/core';
import { FileIntegrity } from '@flotilla/api/machine';
import {
  managedCrds,
  OPERATOR_CONFIG_MAP,
  OPERATOR_LEASE,
  OPERATOR_NAMESPACE,
  UPGRADE_CONFIG_NAME,
  UpgradeConfig,
} from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import {
  type AlertmanagerServer,
  type ApiServer,
  type ClusterManager,
  startAlertmanager,
  startApiServer,
  startClusterManager,
} from '@flotilla/control-plane/servers';
import { type ClusterActors, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { type Client, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';
import { AUDIT_IN_ONE_FILE, type AuditEntry, BEFORE_THE_ANSWER, readAuditLog } from '../../fixtures/audit-log.ts';
import { applyCrds } from '../../fixtures/crds.ts';
import { type RunningProgram, startUpgradeOperator } from '../../support/programs.ts';

/** The version that is upgraded to: another minor version, so that operators are asked whether they let the cluster go. */
export const TARGET = { version: '4.15.3', channel: 'stable-4.15' };
const OPERATOR = 'upgrade-operator';
const TOKEN = 'c2VjcmV0LW9mLXRlc3Q=';
const REF = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
const INTEGRITY = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };

const Silence = z.looseObject({ comment: z.string(), status: z.looseObject({ state: z.string() }) });
type Silence = z.output<typeof Silence>;

/** A write of the operator, as the API server's audit log has it. */
export type Write = Pick<AuditEntry, 'verb'> & { readonly resource: string; readonly name: string; readonly resourceVersion: string };
const Stored = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().default('') }).prefault({}) });

/** A service that answers every request with the same, and says when it was asked; it may keep whoever asks waiting. */
interface WaitingService extends AsyncDisposable {
  readonly url: string;
  /** Requests so far. */
  asked: number;
  /** From now on nobody is answered. */
  isHeld: boolean;
}

async function startWaitingService(answer: unknown): Promise<WaitingService> {
  const state = { asked: 0, isHeld: false };
  const server = createServer((_, response) => {
    state.asked += 1;
    if (!state.isHeld) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(state, { url, [Symbol.asyncDispose]: stop });
}

/** The cluster, OCM, Alertmanager, and services that the operator asks. */
export class KilledCluster implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #dir: string;
  readonly #server: ApiServer;
  readonly #alertmanager: AlertmanagerServer;
  readonly client: Client;
  readonly manager: ClusterManager;
  readonly actors: ClusterActors;
  readonly prometheus: WaitingService;
  readonly dependency: WaitingService;
  #lastSeen: UpgradeConfig | undefined;

  private constructor(parts: Pick<KilledCluster, 'client' | 'manager' | 'actors' | 'prometheus' | 'dependency'> & Hidden) {
    this.#stack = parts.stack;
    this.#dir = parts.dir;
    this.#server = parts.server;
    this.#alertmanager = parts.alertmanager;
    this.client = parts.client;
    this.manager = parts.manager;
    this.actors = parts.actors;
    this.prometheus = parts.prometheus;
    this.dependency = parts.dependency;
  }

  /** Starts all but the operator. @param dir for logs; the caller's */
  static async start(dir: string): Promise<KilledCluster> {
    const stack = new AsyncDisposableStack();
    const server = stack.use(
      await startApiServer({
        users: [{ name: OPERATOR, groups: ['system:masters'] }],
        auditLogPath: join(dir, 'audit.log'),
        auditPolicy: {
          rules: [{ level: 'RequestResponse', users: [OPERATOR], verbs: ['create', 'update', 'patch', 'delete'] }, { level: 'None' }],
          omitStages: BEFORE_THE_ANSWER,
        },
        flags: [AUDIT_IN_ONE_FILE],
      }),
    );
    const client = await server.client();
    await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
    for (const name of [OPERATOR_NAMESPACE, 'openshift-config', INTEGRITY.namespace])
      await client.create(Namespace, { metadata: { name } });
    const auths = JSON.stringify({ auths: { 'cloud.openshift.com': { auth: TOKEN } } });
    await client.create(Secret, {
      metadata: { namespace: 'openshift-config', name: 'pull-secret' },
      data: { '.dockerconfigjson': Buffer.from(auths).toString('base64') },
    });
    await client.create(FileIntegrity, { metadata: INTEGRITY });
    await createSmallCluster(client);
    const pace = { controlPlaneMs: 100, machineMs: 100, nodeMs: 100 };
    const actors = stack.use(await startClusterActors({ client, offers: { [TARGET.channel]: [TARGET.version] }, pace }));
    const manager = stack.use(await startClusterManager({ externalId: '00000000-0000-4000-8000-000000000001', token: TOKEN }));
    const alertmanager = stack.use(await startAlertmanager());
    const prometheus = stack.use(await startWaitingService({ status: 'success', data: { resultType: 'vector', result: [] } }));
    const dependency = stack.use(await startWaitingService({}));
    const cluster = new KilledCluster({ stack, dir, server, alertmanager, client, manager, actors, prometheus, dependency });
    await cluster.#configure();
    await cluster.#follow();
    return cluster;
  }

  async #configure(): Promise<void> {
    const config = {
      upgradeType: 'OSD',
      configManager: { source: 'OCM', ocmBaseUrl: this.manager.url, watchInterval: 60 },
      environment: { fedramp: true },
      maintenance: { ignoredAlerts: { controlPlaneCriticals: ['ClusterOperatorDown'] } },
      upgradeWindow: { delayTrigger: 30, timeOut: 0 },
      nodeDrain: { timeOut: 45 },
      extDependencyAvailabilityChecks: { http: { timeout: 60, urls: [this.dependency.url] } },
      featureGate: { enabled: ['ServiceLogNotification'] },
    };
    const { name, key } = OPERATOR_CONFIG_MAP;
    await this.client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: JSON.stringify(config) } });
  }

  /** Starts the operator as its users do. @param inherits waits for the lease of the one that was killed; else that is taken away first */
  async startOperator({ inherits }: { readonly inherits: boolean }): Promise<RunningProgram> {
    if (!inherits) await this.client.delete(Lease, { namespace: OPERATOR_NAMESPACE, name: OPERATOR_LEASE });
    const urls = ['--prometheus-url', this.prometheus.url, '--alertmanager-url', this.#alertmanager.url];
    const operator = await startUpgradeOperator(await this.#server.kubeconfigFor(OPERATOR), this.#dir, [...urls, '--retry-seconds', '1']);
    this.#stack.defer(() => operator.stop());
    return operator;
  }

  /** The newest entry of the history; its last words where OCM, which was told of the end, has the UpgradeConfig removed. */
  async entry() {
    const current = (await this.client.get(UpgradeConfig, REF)) ?? this.#lastSeen;
    return current?.status?.history?.[0];
  }

  /** Follows the UpgradeConfig until the cluster ends. */
  async #follow(): Promise<void> {
    const stop = new AbortController();
    this.#stack.defer(() => stop.abort());
    const upgrades = new WatchCache(this.client, UpgradeConfig);
    upgrades.subscribe(({ type, object }) => {
      if (type === 'set') this.#lastSeen = object;
    });
    upgrades.start(stop.signal);
    await upgrades.synced();
  }

  /** The upgrade began that long ago, by its status. */
  async ageUpgrade(minutes: number): Promise<void> {
    const operation = { op: 'replace', path: '/status/history/0/startTime', value: new Date(Date.now() - minutes * 60_000).toISOString() };
    await this.client.patch(UpgradeConfig, REF, [operation], { type: 'json', subresource: 'status' });
  }

  /** All silences, ended ones too. */
  async silences(): Promise<Silence[]> {
    const answer = await fetch(`${this.#alertmanager.url}/api/v2/silences`, { signal: AbortSignal.timeout(5_000) });
    return z.array(Silence).parse(await answer.json());
  }

  /** What the operator wrote so far and was not refused, its own state and events aside. */
  async writes(): Promise<Write[]> {
    const writes: Write[] = [];
    for await (const { verb, objectRef, responseStatus, responseObject } of readAuditLog(join(this.#dir, 'audit.log'))) {
      if (!objectRef || responseStatus.code >= 300 || ['leases', 'events'].includes(objectRef.resource)) continue;
      const { resource, subresource, name } = objectRef;
      const { resourceVersion } = Stored.parse(responseObject ?? {}).metadata;
      writes.push({ verb, resource: subresource === undefined ? resource : `${resource}/${subresource}`, name, resourceVersion });
    }
    return writes;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

interface Hidden {
  readonly stack: AsyncDisposableStack;
  readonly dir: string;
  readonly server: ApiServer;
  readonly alertmanager: AlertmanagerServer;
}
