/**
 * Command lines of tired operators, on terminals and in a pipe, of one hub that stands still: each ends as kubectl's would, or says the next
 * step. Under another Node, and with a reader that ends early, the program is told by the tests of its release and of `main.ts`.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configCrds } from '@flotilla/api/config';
import { Namespace } from '@flotilla/api/core';
import { managedCrds } from '@flotilla/api/managed';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { eachAttempt } from '../world.ts';
import { flotillaWith } from './flotilla.ts';
import { writeOddKubeconfigs } from './odd-kubeconfigs.ts';
import { seedHub } from './seeded-hub.ts';
import { steady, typeLines } from './typed-lines.ts';

let server: ApiServer;
let folder: string;
let odd: Awaited<ReturnType<typeof writeOddKubeconfigs>>;
eachAttempt(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-command-lines-'));
    server = await startApiServer({ crds: [...hubCrds(), ...configCrds(), ...managedCrds()], users: [{ name: 'stranger', groups: [] }] });
    odd = await writeOddKubeconfigs(server, folder);
    await seedHub(await server.client());
    await seedMore();
  },
  async () => {
    await odd?.[Symbol.asyncDispose]();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  },
);

const upgrade = (name: string, annotations: Record<string, string> = {}, spec: object = {}) => ({
  apiVersion: ClusterGroupUpgrade.apiVersion,
  kind: ClusterGroupUpgrade.kind,
  metadata: { namespace: 'default', name, annotations },
  spec: { clusters: ['site-1'], remediationStrategy: { maxConcurrency: 1 }, ...spec },
});

/** Adds the objects that only these lines need, and the files that they name. */
async function seedMore(): Promise<void> {
  const client = await server.client();
  await client.create(Namespace, { metadata: { name: 'empty' } });
  for (const name of ['stranger', 'site-6']) await client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true } });
  const paused = { 'flotilla.io/paused': 'drain', 'flotilla.io/paused-reason': 'one' };
  await client.create(ClusterGroupUpgrade, upgrade('paused', paused));
  const additionalImages = ['private', 'none'].map((name) => `${odd.registry}/team/${name}:1`);
  await client.create(PreCachingConfig, { metadata: { namespace: 'default', name: 'unread' }, spec: { additionalImages } });
  const unread = { clusters: ['site-6'], preCaching: true, preCachingConfigRef: { name: 'unread' } };
  await client.create(ClusterGroupUpgrade, upgrade('unread', {}, unread));
  for (const name of ['files', 'none']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'files/upgrade.yaml'), JSON.stringify(upgrade('filed')));
  await writeFile(join(folder, 'files/notes.txt'), 'kind: [');
  const two = [upgrade('first'), upgrade('second')].map((each) => JSON.stringify(each));
  await writeFile(join(folder, 'two-documents.yaml'), two.join('\n---\n'));
}

const lines = [
  '',
  'status',
  'status default/rolling',
  'status -n nothere',
  'status -n empty',
  'status -l a==b=c',
  'status -l app=nothing',
  'status --as somebody',
  'status --as somebody --as-group system:masters -n empty',
  'status --request-timeout 30s -n empty',
  'status --context nothere',
  'status -o yaml',
  'why rolling',
  'why rolling site-2',
  'why rolling no-such-cluster',
  'why site-2',
  'why stranger',
  'why nobody',
  'wait rolling --for=Done',
  'wait rolling --for batch=9',
  'wait rolling --timeout 5',
  'pause rolling',
  'pause rolling --reason one --dry-run',
  'pause paused --dry-run',
  'pause default/paused -n other',
  'resume rolling',
  'hold stranger --dry-run',
  'hold site-1 --dry-run',
  'unhold stranger',
  'retry rolling --dry-run',
  'retry ended --dry-run',
  'retry nobody',
  'retry rolling --cluster site-2',
  'retry rolling site-2 --dry-run',
  'retry rolling site-1 --dry-run',
  'window rolling --start yesterday',
  'window set rolling --start yesterday',
  'plan -f files --no-images',
  'plan -f none',
  'plan -f two-documents.yaml',
  'plan unread --insecure-registry REGISTRY',
  'KUBECONFIG=cluster:user status -n empty',
  'KUBECONFIG=exec-fails status',
  'KUBECONFIG=exec-missing status',
  'KUBECONFIG=exec-no-json status',
  'KUBECONFIG=exec-slow status -n empty',
  'KUBECONFIG=exec-writes-stderr status -n empty',
  'KUBECONFIG=plain-http status',
  'KUBECONFIG=login-page status',
  'KUBECONFIG=self-signed status',
  'KUBECONFIG=issuing-ca-only status',
  'KUBECONFIG=403 status',
];

/** Output of all lines together. */
async function say(typing: NonNullable<Parameters<typeof typeLines>[2]>): Promise<string> {
  const place = { kubeconfig: server.kubeconfig, folder };
  const typed = lines.map((line) => line.replace('REGISTRY', odd.registry));
  const text = await typeLines(place, typed, typing);
  return steady(text, place)
    .replaceAll(/https:\/\/localhost:\d+/g, '<secure>')
    .replaceAll(odd.registry, '<registry-of-none>');
}

const terminals: { readonly width: number; readonly env: Readonly<Record<string, string>> }[] = [
  { width: 40, env: { LC_ALL: 'C' } },
  { width: 80, env: {} },
  { width: 200, env: { NO_COLOR: '1' } },
];
test.each(terminals)('on a terminal of $width columns with $env', async ({ width, env }) => {
  const text = await say({ width, env });
  if ('LC_ALL' in env) expect(text).toMatch(/^[\n -~]*$/);
  if ('NO_COLOR' in env) expect(text).not.toMatch(/<\d+>/);
  await expect(text).toMatchFileSnapshot(`lines/${width}.txt`);
});

test('in a pipe, in any locale', async () => {
  await expect(await say({ env: { LC_ALL: 'C' } })).toMatchFileSnapshot('lines/pipe.txt');
});

test('a plan of standard input', async () => {
  const input = JSON.stringify(upgrade('typed'));
  const typed = await flotillaWith(server.kubeconfig, { input }, 'plan', '-f', '-', '--no-images');
  expect(typed).toMatchObject({ err: '', out: expect.stringContaining('default/typed: ') });
});
