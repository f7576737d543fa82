import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkCadence } from '@flotilla/agent';
import type { KubeObject, Resource } from '@flotilla/api';
import { ClusterRole, ClusterRoleBinding, Lease, Role, RoleBinding } from '@flotilla/api/core';
import { AGENT_LEASE, spokeWorkCrds, transportCrds } from '@flotilla/api/ocm';
import { freePorts, type ServerProcess, startServerProcess } from '@flotilla/control-plane/processes';
import { startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { settled } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect } from 'vitest';
import { programFile } from '../support/program-files.ts';
import { countRefusedCreates, observeServer } from './observer.ts';
import type { TransportSubject } from './transport-subject.ts';

const CLUSTER = 'spoke-1';
const AGENT = 'agent';
const PULLER_ROLE = 'puller';

/** Our agent, with the ends a test of its registration needs. */
export interface AgentSubject extends TransportSubject {
  readonly hubKubeconfig: string;
  readonly spokeKubeconfig: string;
  /** Asks the agent to end and returns its log. */
  endAgent(): Promise<string>;
  /** The spoke's API server stops to answer. */
  cutSpoke(): Promise<void>;
}

/** What a suite may ask of the subject. */
interface AgentSubjectOptions {
  readonly works?: WorkCadence;
  /** Beside the spoke's API server run the controllers that remove namespaces and what is deleted in the foreground. */
  readonly garbageCollection?: boolean;
}

/** Our agent as a process, between a real hub API server and a real spoke API server, with the least rights it documents. */
export async function startAgentSubject({ works, garbageCollection }: AgentSubjectOptions = {}): Promise<AgentSubject> {
  const [hubServer, spokeServer] = await Promise.all([
    startApiServer({ users: [{ name: AGENT }], crds: transportCrds() }),
    startApiServer({ users: [{ name: AGENT }], crds: spokeWorkCrds() }),
  ]);
  const [hub, spoke] = [await hubServer.client(), await spokeServer.client()];
  await registerSpokes(hub, [CLUSTER], { available: false });
  await grantHub(hub);
  await grantSpoke(spoke);
  const controllers = garbageCollection ? await startControllerManager(spokeServer) : undefined;
  const agent = new AgentProcess(
    {
      PULLER_ROLE,
      WORK_EVICTION_SECONDS: '2',
      HUB_KUBECONFIG: await hubServer.kubeconfigFor(AGENT),
      SPOKE_KUBECONFIG: await spokeServer.kubeconfigFor(AGENT),
      ...(works && { WORK_STATUS_SYNC_SECONDS: `${works.statusSyncMs / 1000}`, WORK_RESYNC_SECONDS: `${works.resyncMs / 1000}` }),
      ...(works?.feedback && { WORK_FEEDBACK: works.feedback }),
    },
    join(hubServer.dir, 'spoke-agent.log'),
  );
  await agent.start();
  return {
    hub,
    hubKubeconfig: hubServer.kubeconfig,
    spokeKubeconfig: spokeServer.kubeconfig,
    cluster: CLUSTER,
    spoke: observeServer(spoke),
    stopAgent: () => agent.stop(),
    startAgent: () => agent.start(),
    endAgent: () => agent.end(),
    cutSpoke: () => spokeServer.stop(),
    refusedCreates: () => countRefusedCreates(spoke),
    async [Symbol.asyncDispose]() {
      await agent.stop();
      await controllers?.stop();
      await Promise.all([hubServer.stop(), spokeServer.stop()]);
    },
  };
}

class AgentProcess {
  readonly #environment: Record<string, string>;
  readonly #logFile: string;
  #process: ServerProcess | undefined;

  constructor(environment: Record<string, string>, logFile: string) {
    this.#environment = { CLUSTER_NAME: CLUSTER, LOG_LEVEL: 'info', ...environment };
    this.#logFile = logFile;
  }

  async start(): Promise<void> {
    const [port] = await freePorts(1);
    const args = [programFile('apps/spoke-agent/src/main.ts'), '--health-port', String(port)];
    const agent = await startServerProcess({
      name: 'spoke-agent',
      program: process.execPath,
      args,
      env: this.#environment,
      logFile: this.#logFile,
    });
    this.#process = agent;
    await settled(
      async () => {
        if (agent.hasExited()) throw new Error(`the agent ended: ${await readFile(this.#logFile, 'utf8')}`);
        expect((await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2000) })).status).toBe(200);
      },
      { timeout: 20_000, interval: 50 },
    );
  }

  /** Ends in order; throws when it takes longer than five seconds. */
  async end(): Promise<string> {
    const startedAt = Date.now();
    await this.#process?.stop();
    this.#process = undefined;
    expect(Date.now() - startedAt).toBeLessThan(5000);
    return readFile(this.#logFile, 'utf8');
  }

  /** Dies at once: no last write. */
  async stop(): Promise<void> {
    await this.#process?.stop({ signal: 'SIGKILL' });
    this.#process = undefined;
  }
}

const rbac = 'rbac.authorization.k8s.io';
const subjects = [{ apiGroup: rbac, kind: 'User', name: AGENT }];

/** What the agent may do on the hub: the README's list. */
async function grantHub(hub: Client): Promise<void> {
  const namespaced = [
    { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions'], verbs: ['list', 'watch'] },
    { apiGroups: ['action.open-cluster-management.io'], resources: ['managedclusteractions/status'], verbs: ['update'] },
    { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews'], verbs: ['list', 'watch'] },
    { apiGroups: ['view.open-cluster-management.io'], resources: ['managedclusterviews/status'], verbs: ['update'] },
    { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks'], verbs: ['list', 'watch', 'patch'] },
    { apiGroups: ['work.open-cluster-management.io'], resources: ['manifestworks/status'], verbs: ['patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['managed-cluster-lease'], verbs: ['patch'] },
  ];
  const group = ['cluster.open-cluster-management.io'];
  const wide = [
    { apiGroups: group, resources: ['managedclusters'], resourceNames: [CLUSTER], verbs: ['get'] },
    { apiGroups: group, resources: ['managedclusters/status'], resourceNames: [CLUSTER], verbs: ['patch'] },
  ];
  // Made by whoever lets the agent in.
  await hub.create(Lease, { metadata: { name: AGENT_LEASE, namespace: CLUSTER } });
  await grant(hub, Role, RoleBinding, namespaced, CLUSTER);
  await grant(hub, ClusterRole, ClusterRoleBinding, wide);
}

/** On the spoke: the four verbs on any kind, the list of nodes and of its records, list and watch of autoscalers, and the puller's role to bind; nothing else. */
async function grantSpoke(spoke: Client): Promise<void> {
  await grant(spoke, ClusterRole, ClusterRoleBinding, [
    { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'create', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
    { apiGroups: ['work.open-cluster-management.io'], resources: ['appliedmanifestworks'], verbs: ['list'] },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ['list', 'watch'] },
    { apiGroups: [rbac], resources: ['clusterroles'], resourceNames: [PULLER_ROLE], verbs: ['bind'] },
  ]);
  await spoke.create(ClusterRole, { metadata: { name: PULLER_ROLE } });
}

async function grant(client: Client, role: Resource, binding: Resource, rules: unknown[], namespace?: string): Promise<void> {
  const metadata: KubeObject['metadata'] = { name: 'spoke-agent', ...(namespace === undefined ? {} : { namespace }) };
  await client.create(role, { apiVersion: role.apiVersion, kind: role.kind, metadata, rules });
  const roleRef = { apiGroup: rbac, kind: role.kind, name: 'spoke-agent' };
  await client.create(binding, { apiVersion: binding.apiVersion, kind: binding.kind, metadata, roleRef, subjects });
}
