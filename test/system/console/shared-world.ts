import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotation, conditionTime } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { hubCrds } from '../../fixtures/crds.ts';
import { type Certificate, type Issuer, makeCertificate, startIssuer } from './issuer.ts';

const RAN = 'ran.openshift.io';
const OCM = 'cluster.open-cluster-management.io';
const READ = ['get', 'list', 'watch'];
const readUpgrades = { apiGroups: [RAN], resources: ['clustergroupupgrades'], verbs: READ };
const readAll = [
  readUpgrades,
  { apiGroups: [OCM], resources: ['managedclusters'], verbs: READ },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: READ },
];
const steerAll = [{ apiGroups: [RAN, OCM], resources: ['clustergroupupgrades', 'managedclusters'], verbs: ['patch'] }];

/** People and what they may do. */
const RIGHTS: Readonly<Record<string, readonly object[]>> = {
  reader: readAll,
  half: [readUpgrades],
  operator: [...readAll, ...steerAll],
  nobody: [],
  'oidc:ann@example.com': readAll,
};
/** People with a token of the API server's own. */
export const PEOPLE = ['reader', 'half', 'operator', 'nobody'] as const;

/** Text that takes over a page, a terminal or a line where it is taken for more than a text. */
const HOSTILE =
  '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>\u202eexe.\u001b[31m\u001b]0;taken\u0007{{x}}';

const AuditLine = z.looseObject({
  verb: z.string(),
  userAgent: z.string().default(''),
  user: z.looseObject({ username: z.string().default('') }).default({ username: '' }),
  impersonatedUser: z.unknown().optional(),
  responseStatus: z.looseObject({ code: z.number() }).optional(),
  objectRef: z
    .looseObject({ resource: z.string(), namespace: z.string().optional(), apiGroup: z.string().optional(), name: z.string().optional() })
    .optional(),
});

/** An API server with people of different rights, a hostile spoke, and an issuer whose tokens it trusts. */
export class SharedWorld implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: Client;
  readonly issuer: Issuer;
  readonly certificate: Certificate;
  readonly dir: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(parts: Pick<SharedWorld, 'server' | 'client' | 'issuer' | 'certificate' | 'dir'>, stack: AsyncDisposableStack) {
    this.server = parts.server;
    this.client = parts.client;
    this.issuer = parts.issuer;
    this.certificate = parts.certificate;
    this.dir = parts.dir;
    this.#stack = stack;
  }

  static async start(): Promise<SharedWorld> {
    await using starting = new AsyncDisposableStack();
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-shared-'));
    starting.defer(() => rm(dir, { recursive: true, force: true }));
    const certificate = await makeCertificate(dir);
    const issuer = starting.use(await startIssuer(certificate));
    const flags = [
      `--oidc-issuer-url=${issuer.url}`,
      '--oidc-client-id=console',
      `--oidc-ca-file=${certificate.cert}`,
      '--oidc-username-claim=email',
      '--oidc-username-prefix=oidc:',
    ];
    const users = PEOPLE.map((name) => ({ name }));
    const server = starting.use(await startApiServer({ crds: hubCrds(), users, flags, auditLogPath: join(dir, 'audit.log') }));
    const client = await server.client();
    for (const [name, rules] of Object.entries(RIGHTS)) await grant(client, name, rules);
    await furnish(client);
    return new SharedWorld({ server, client, issuer, certificate, dir }, starting.move());
  }

  /** A person's token. */
  async tokenOf(person: (typeof PEOPLE)[number]): Promise<string> {
    const [, token = ''] = /"token":"([0-9a-f]{32})"/.exec(await readFile(await this.server.kubeconfigFor(person), 'utf8')) ?? [];
    return token;
  }

  /** File with the API server's authority. */
  get authority(): string {
    return join(this.server.dir, 'certificates', 'apiserver.crt');
  }

  /** Calls that came from consoles, as the API server noted them. */
  async calls(): Promise<z.output<typeof AuditLine>[]> {
    const lines = (await readFile(join(this.dir, 'audit.log'), 'utf8')).split('\n').filter((line) => line.endsWith('}'));
    return lines.map((line) => AuditLine.parse(JSON.parse(line))).filter(({ userAgent }) => userAgent.startsWith('flotilla-console'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function grant(client: Client, person: string, rules: readonly object[]): Promise<void> {
  const name = person.replaceAll(/[^a-z]/g, '-');
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await client.request('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }];
  await client.request('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name }, roleRef, subjects } });
}

async function furnish(client: Client): Promise<void> {
  await registerSpokes(client, ['site-1', 'site-2']);
  const hostile = { metadata: { annotations: { [Annotation.hold]: HOSTILE } } };
  await client.patch(ManagedCluster, { name: 'site-1' }, hostile, { type: 'merge' });
  // What the agent of a spoke may write of itself.
  const version = { status: { version: { kubernetes: HOSTILE } } };
  await client.patch(ManagedCluster, { name: 'site-1' }, version, { type: 'merge', subresource: 'status' });
  const ref = { namespace: 'default', name: 'large' };
  const spec = {
    clusters: ['site-1', 'site-2'],
    manifestWorkTemplates: ['t'],
    enable: true,
    remediationStrategy: { maxConcurrency: 1, timeout: 240 },
  };
  await client.create(ClusterGroupUpgrade, { metadata: ref, spec } as never);
  const at = conditionTime(Date.now());
  const status = {
    conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: HOSTILE, lastTransitionTime: at }],
    remediationPlan: [['site-1'], ['site-2']],
    clusters: [{ name: 'site-1', state: 'timedout', message: HOSTILE }],
    precaching: { status: { 'site-1': 'UnrecoverableError', 'site-2': 'Succeeded' }, messages: { 'site-1': HOSTILE } },
    status: {
      startedAt: at,
      currentBatch: 2,
      currentBatchStartedAt: at,
      currentBatchRemediationProgress: { 'site-2': { state: 'InProgress' } },
    },
  };
  await client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' });
}
