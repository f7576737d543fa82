import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { conditionTime, errorMessage, type KubeObject } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, transportCrds } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, fixOf, ranCrds } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { type Client, systemClock } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ground, type Mistake, mistakes, type NewcomerCluster } from '../fixtures/newcomer-mistakes.ts';
import { embedHub, type TestHub } from '../integration/embedded-hub.ts';

/** An agent that does not answer is spoken of after 30 s. */
const PATIENCE_MS = 90_000;
const GOLDENS = join(import.meta.dirname, '../fixtures/newcomer');

/** What is installed before the hub starts, and how it is started. */
const grounds: Record<Ground, { readonly crds: readonly unknown[]; readonly args: readonly string[] }> = {
  bare: { crds: [], args: ['--install-crds'] },
  standalone: { crds: [], args: ['--install-crds', '--standalone'] },
  framework: { crds: [...ranCrds(), ...transportCrds(), ...policyCrds()], args: [] },
};

describe.each(Object.keys(grounds) as Ground[])('on a hub that is %s', (ground) => {
  const all = mistakes.filter((mistake) => mistake.ground === ground);
  let server: ApiServer;
  let hub: TestHub;
  let client: Client;
  let kubectl: (...args: string[]) => Promise<string>;
  let dir: string;
  const refusals = new Map<string, string>();

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'flotilla-newcomer-'));
    const { crds, args } = grounds[ground];
    server = await startApiServer({ crds });
    client = await server.client();
    const program = (await ensureTools(['kubectl'])).path('kubectl');
    kubectl = (...given) => runCommand(program, ['--kubeconfig', server.kubeconfig, '--cache-dir', dir, ...given], { timeoutMs: 60_000 });
    hub = await embedHub(server, ['--precache-image', 'registry.test/puller:1', '--log-level', 'debug', ...args], systemClock);
    await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
    if (ground !== 'bare') {
      await registerSpokes(client, ['spoke-1', 'spoke-2'], { labels: { fleet: 'edge' } });
      for (const { clusters = [] } of all) for (const cluster of clusters) await createCluster(client, cluster);
    }
    for (const mistake of all) await make(mistake);
  });

  afterAll(async () => {
    await hub?.stop();
    await server?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  async function make({ name, annotations, spec, objects = [], isRefused }: Mistake): Promise<void> {
    const metadata = { name, namespace: 'default', ...(annotations && { annotations }) };
    const upgrade = { apiVersion: ClusterGroupUpgrade.apiVersion, kind: ClusterGroupUpgrade.kind, metadata, spec };
    for (const object of objects) await apply(object);
    if (!isRefused) return apply(upgrade);
    const error = await apply(upgrade).then(
      () => expect.fail(`${name} was accepted`),
      (reason: unknown) => reason,
    );
    refusals.set(name, errorMessage(error).replace(/^.* ended with \d+: /, ''));
  }

  async function apply(object: object): Promise<void> {
    const program = (await ensureTools(['kubectl'])).path('kubectl');
    await runCommand(program, ['--kubeconfig', server.kubeconfig, '--cache-dir', dir, 'apply', '-f', '-'], {
      input: JSON.stringify(object),
      timeoutMs: 60_000,
    });
  }

  /** What two looks of a user show: the table, and conditions, messages and events of the description. */
  async function look(name: string): Promise<string> {
    const [table, description] = [
      await kubectl('-n', 'default', 'get', 'cgu', name),
      await kubectl('-n', 'default', 'describe', 'cgu', name),
    ];
    return `$ kubectl get cgu ${name}\n${normalizeTable(table)}\n$ kubectl describe cgu ${name}\n${normalize(description)}`;
  }

  /** Nothing is left that changes by itself: the same three times in a row, and the fix is told. */
  async function settled(name: string, isTold: (text: string) => boolean): Promise<string> {
    let same = 0;
    let last = '';
    await eventually(
      async () => {
        const now = await look(name);
        same = now === last && isTold(now) ? same + 1 : 0;
        last = now;
        return same >= 3;
      },
      () => `${name} to tell the next step, tells:\n${last}`,
      PATIENCE_MS,
    );
    return last;
  }

  // The order of concurrent tests is nobody's: each has its own `expect`.
  test.concurrent.for(all)(
    '$name is told with its next step',
    { timeout: PATIENCE_MS + 60_000 },
    async ({ name, reason, values, isRefused }, { expect }) => {
      const fix = fixOf(reason, values);
      expect(fix).not.toBe('');
      // Described texts are wrapped nowhere; a status cuts them at a word.
      const isTold = (text: string) => text.replaceAll(/\s+/g, ' ').includes(fix.replaceAll(/\s+/g, ' '));
      const text = isRefused ? `$ kubectl apply\n${normalize(refusals.get(name) ?? '')}` : await settled(name, isTold);
      expect(isTold(text), text).toBe(true);
      await expect(text).toMatchFileSnapshot(join(GOLDENS, ground, `${name}.txt`));
    },
  );

  if (ground === 'standalone') {
    test('the clusters are shown with whether they are accepted, joined and available', async () => {
      const table = await kubectl('get', 'managedclusters');
      expect(
        table
          .split('\n')[0]
          ?.trim()
          .split(/\s{2,}/),
      ).toEqual(['NAME', 'HUB ACCEPTED', 'MANAGED CLUSTER URLS', 'JOINED', 'AVAILABLE', 'AGE']);
      expect(table).toMatch(/^denied +false/m);
    });

    test('no step is tried again for a denied cluster', async () => {
      const lines = (await hub.output()).split('\n').filter((line) => line.includes('"denied"') && /namespaces .*not found/.test(line));
      expect(lines).toEqual([]);
    });

    test.each(['cgu.spec', 'cgu.status', 'precachingconfig.spec'])(
      'kubectl explain %s describes it and each of its fields',
      async (path) => {
        const text = await kubectl('explain', path);
        expect(text).toMatch(/DESCRIPTION:\n {4}[A-Z]/);
        expect(text).not.toContain('<no description>');
        expect(text).not.toContain('<empty>');
      },
    );
  }

  if (ground === 'bare') {
    test('the upgrade goes on by itself when the kind and its clusters come', async () => {
      const name = 'no-managed-clusters';
      await settled(name, (text) => text.includes(fixOf('ClusterApiMissing')));
      for (const crd of transportCrds()) await apply(crd);
      await kubectl('wait', '--for=condition=Established', 'crd', 'managedclusters.cluster.open-cluster-management.io', '--timeout=30s');
      await registerSpokes(client, ['spoke-1']);
      const selected = async () =>
        (await client.get(ClusterGroupUpgrade, { namespace: 'default', name }))?.status?.conditions?.find(
          ({ type }) => type === 'ClustersSelected',
        )?.status === 'True';
      await eventually(selected, 'the cluster to be selected', 90_000);
    }, 240_000);
  }
});

test('at least twenty mistakes are told', () => expect(mistakes.length).toBeGreaterThanOrEqual(20));

async function createCluster(client: Client, { name, annotations, isAccepted = true, available = 'True' }: NewcomerCluster): Promise<void> {
  if (isAccepted) await registerSpokes(client, [name], { available: false });
  const object: KubeObject = {
    apiVersion: ManagedCluster.apiVersion,
    kind: ManagedCluster.kind,
    metadata: { name, ...(annotations && { annotations }) },
    spec: { hubAcceptsClient: isAccepted, leaseDurationSeconds: 60 },
  };
  await client.apply(ManagedCluster, object, { fieldManager: 'newcomer', force: true });
  if (!isAccepted) return;
  const condition = {
    type: CLUSTER_AVAILABLE,
    status: available,
    reason: 'Test',
    message: 'as the test wants it',
    lastTransitionTime: conditionTime(Date.now()),
  };
  await client.patch(ManagedCluster, { name }, { status: { conditions: [condition] } }, { type: 'merge', subresource: 'status' });
}

/** Columns but for the age. */
const normalizeTable = (table: string): string =>
  table
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^(\S+)\s+(AGE|\d\S*)\s+/, (_, first: string) => `${first}   `).replaceAll(/ {2,}/g, '   '))
    .join('\n');

/** What follows from this run alone goes: times, ages, uids, how often an event came, and the spec, which the newcomer wrote. */
function normalize(description: string): string {
  const status = description.includes('\nStatus:') ? description.slice(description.indexOf('\nStatus:') + 1) : description;
  const [state = '', events = ''] = status.split(/^Events:/m);
  const lines = state
    .replaceAll(/((?:Time|At|Since): +)\S+Z$/gm, '$1TIME')
    .replaceAll(/(waits \([a-z-]+\) since )\S+Z:/g, '$1TIME:')
    .replaceAll(/(Cluster Uids: +)\S+$/gm, '$1UIDS')
    .replaceAll(/(: +\S+-)[a-z0-9]{5}$/gm, '$1SUFFIX');
  const told = events
    .split('\n')
    .slice(3)
    .map((line) => /^\s+(\S+)\s+(\S+)\s+\S+(?: \(x\d+ over \S+\))?\s+\S+\s+(.*)$/.exec(line))
    .flatMap((found) => (found ? [`  ${found[1]} ${found[2]}: ${found[3]}`] : []));
  return `${withoutSeconds(lines.trimEnd())}\n${told.length > 0 ? `Events:\n${withoutSeconds([...new Set(told)].toSorted().join('\n'))}\n` : ''}`;
}

const withoutSeconds = (text: string): string => text.replaceAll(/for \d+ s\b/g, 'for N s');
