import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { transportCrds } from '@flotilla/api/ocm';
import { policyCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, type ApiServerOptions, applyCrds, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools, type Tools } from '@flotilla/control-plane/toolchain';
import type { Client } from '@flotilla/runtime';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CHARTS, HUB, HUB_IMAGES, NAMESPACE, SERVICE_ACCOUNT, SPOKE_IMAGES } from './chart-hub.ts';

/** Namespaces of OpenShift in which a chart of ours has Roles. */
const OPENSHIFT_NAMESPACES = ['openshift-monitoring', 'openshift-config', 'openshift-machine-api'];

/** User of the agent. */
export const AGENT = `system:serviceaccount:${NAMESPACE}:agent-flotilla-spoke`;

/** Values that a chart cannot do without. */
export const REQUIRED = {
  hub: HUB_IMAGES,
  spoke: ['clusterName=spoke-1', 'hub.kubeconfigSecret=hub-kubeconfig', ...SPOKE_IMAGES],
} as const;
/** A folder of `charts`. */
export type Chart = keyof typeof REQUIRED;

/** What is asked of every rendered object. */
export const Rendered = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), annotations: z.record(z.string(), z.string()).optional() }),
});

/** As much of OpenShift as helm sees of it. */
const securityContextConstraints = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'securitycontextconstraints.security.openshift.io' },
  spec: {
    group: 'security.openshift.io',
    scope: 'Cluster',
    names: { plural: 'securitycontextconstraints', singular: 'securitycontextconstraints', kind: 'SecurityContextConstraints' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

/** A real API server that knows all kinds of ours, on which charts are rendered and installed. */
export interface ChartServer extends AsyncDisposable {
  readonly server: ApiServer;
  readonly admin: Client;
  readonly tools: Tools;
  /** Runs helm against the server; returns what it prints. */
  helm(...args: string[]): Promise<string>;
}

/** Starts it, with users HUB and AGENT, and others. @param options of the API server beside them */
export async function startChartServer({ users = [], ...options }: ApiServerOptions = {}): Promise<ChartServer> {
  const stack = new AsyncDisposableStack();
  const tools = await ensureTools(['helm', 'kubectl']);
  const home = await mkdtemp(join(tmpdir(), 'flotilla-helm-'));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const server = stack.use(
    await startApiServer({ ...options, users: [...[AGENT, HUB].map((name) => ({ name, groups: SERVICE_ACCOUNT })), ...users] }),
  );
  const admin = await server.client();
  const namespaces = [NAMESPACE, 'spoke-1', 'spoke-2', OPERATOR_NAMESPACE, ...OPENSHIFT_NAMESPACES];
  for (const name of namespaces) await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  await applyCrds(admin, [...transportCrds(), ...policyCrds(), securityContextConstraints]);
  // Helm keeps its cache and settings here; a release's record is on the server.
  const env = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home, KUBECONFIG: server.kubeconfig };
  return {
    server,
    admin,
    tools,
    helm: (...args) => runCommand(tools.path('helm'), args, { env, timeoutMs: 60_000 }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const DeploymentObject = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple(
          [z.looseObject({ image: z.string(), env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })) })],
          z.looseObject({ name: z.string() }),
        ),
      }),
    }),
  }),
});

/** What a chart makes of its values. */
interface Rendering {
  readonly text: string;
  readonly objects: z.output<typeof Rendered>[];
  /** The first Deployment. */
  readonly deployment: () => z.output<typeof DeploymentObject>;
}

/** Renders a chart with what it cannot do without and other values. */
export async function renderChart({ helm }: Pick<ChartServer, 'helm'>, chart: Chart, values: readonly string[]): Promise<Rendering> {
  const args = ['template', chart === 'hub' ? 'hub' : 'agent', join(CHARTS, chart), '-n', NAMESPACE];
  const text = await helm(...args, ...sets([...REQUIRED[chart], ...values]));
  const objects = parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [Rendered.parse(document.toJS())]));
  return { text, objects, deployment: () => DeploymentObject.parse(objects.find((object) => object.kind === 'Deployment')) };
}

/** The console with TLS of its own. */
export const CONSOLE = [
  'console.enabled=true',
  'console.image.repository=registry.example.com/flotilla/console',
  'console.address=https://console.example.com',
  'console.tls.secretName=console-tls',
];
/** A proxy in the same pod. */
export const PROXY = [
  'console.login=x-forwarded-access-token',
  'console.proxy.containers[0].name=proxy',
  'console.proxy.containers[0].image=registry.example.com/oauth-proxy:1',
  'console.proxy.volumes[0].name=proxy-tls',
  'console.proxy.volumes[0].secret.secretName=proxy-tls',
  'console.proxy.port=8888',
  'console.proxy.egressPorts={443}',
];

/** Values as arguments of helm. */
export const sets = (values: readonly string[]): string[] => values.flatMap((value) => ['--set', value]);
