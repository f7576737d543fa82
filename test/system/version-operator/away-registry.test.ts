/** The version operator as a program, and a registry that is away when it starts. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { ConfigMap, CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { type ApiServer, type Registry, startApiServer, startRegistry } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { RegistryClient } from '@flotilla/registry';
import { pushFiles } from '@flotilla/registry/testing';
import {
  buildRelease,
  buildReleased,
  buildSignersOf,
  releaseTexts,
  signatureContent,
  signed,
  type TestKey,
  testKey,
} from '@flotilla/release/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningProgram, startProgram } from '../../support/programs.ts';

const REF = { name: 'version' };
const OWN = 'openshift-cluster-version';
const [OLD, NEW] = ['4.20.1', '4.20.2'];

let server: ApiServer;
let client: Client;
let registry: Registry | undefined;
let pusher: RegistryClient;
let operator: RunningProgram | undefined;
let port: number;
let root: string;
let key: TestKey;
const images = new Map<string, string>();

/** A release that says its version in a ConfigMap, and who signs the next one. */
const filesOf = (version: string) =>
  buildRelease(version, {
    'release-manifests/0000_10_release_00.json': buildReleased('v1', 'ConfigMap', 'release', { namespace: OWN, data: { version } }),
    'release-manifests/0000_90_keys_00.json': buildSignersOf(key.publicKey.armor(), pathToFileURL(join(root, 'signatures')).href),
  });

/** Pushes a release beside the others; says its pull spec. */
async function push(version: string, isSigned = true): Promise<string> {
  const name = `127.0.0.1:${port}/releases/release`;
  const digest = await pushFiles(pusher, `${name}:${version}`, releaseTexts(filesOf(version)));
  if (isSigned) {
    const folder = join(root, 'signatures', digest.replace(':', '='));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'signature-1'), await signed(signatureContent(digest), key));
  }
  return `${name}@${digest}`;
}

const startIt = async (): Promise<void> => {
  registry = await startRegistry({ dir: join(root, 'registry'), ...(port && { port }) });
};
const stopIt = async (): Promise<void> => {
  await registry?.stop();
  registry = undefined;
};

/** Starts the operator with the first release, whatever the cluster runs by now. */
async function start(cache: string): Promise<RunningProgram> {
  await operator?.stop();
  operator = await startProgram({
    name: 'version-operator',
    entry: 'apps/version-operator/src/main.ts',
    args: [
      ...['--kubeconfig', server.kubeconfig, '--image', images.get(OLD) ?? '', '--insecure-registries', `127.0.0.1:${port}`],
      ...['--cache-folder', join(root, cache), '--pass-minutes', '0.05'],
    ],
    dir: root,
    isReady: () => true,
  });
  return operator;
}

const status = async () => (await client.get(ClusterVersion, REF))?.status;
const accepted = async () => (await status())?.conditions?.find(({ type }) => type === 'ReleaseAccepted');
const history = async () => (await status())?.history?.map(({ version, state, verified }) => `${version} ${state} ${verified}`);
const applied = async () => (await client.get(ConfigMap, { namespace: OWN, name: 'release' }))?.data?.version;
const drift = () => client.patch(ConfigMap, { namespace: OWN, name: 'release' }, { data: { version: 'drifted' } }, { type: 'merge' });
const until = (what: string, ask: () => Promise<unknown>) => eventually(ask, what, 60_000);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-away-'));
  await mkdir(join(root, 'signatures'));
  key = await testKey();
  [server] = await Promise.all([startApiServer(), startIt()]);
  client = await server.client();
  port = registry?.port ?? 0;
  pusher = new RegistryClient({ insecureHosts: [`127.0.0.1:${port}`] });
  for (const version of [OLD, NEW]) images.set(version, await push(version));
  for (const crd of configCrds()) await client.create(CustomResourceDefinition, crd);
  for (const name of [OWN, 'openshift-config-managed', 'openshift-config', 'openshift-talo-pre-cache'])
    await client.create(Namespace, { metadata: { name } });
  const clusterID = crypto.randomUUID();
  await until('a ClusterVersion', () => client.create(ClusterVersion, { metadata: REF, spec: { clusterID } }).catch(() => undefined));
});
afterAll(async () => {
  await operator?.stop();
  await pusher?.close();
  await stopIt();
  await server?.stop();
  if (root) await rm(root, { recursive: true, force: true });
});

describe('a registry that is away when the operator starts', () => {
  test('is told in the ClusterVersion of a cluster that is to be installed, which goes on when it comes', async () => {
    await stopIt();
    const program = await start('cache');
    await until('the registry to be named', async () => (await accepted())?.status === 'False');
    const { reason, message } = (await accepted()) ?? {};
    expect(reason).toBe('RetrievePayload');
    expect(message).toMatch(/^Retrieving payload failed version="" image="127\.0\.0\.1:\d+\/releases\/release@sha256:\w+" failure=/);
    expect(message).toMatch(/nothing is changed until it is there: .*(ECONNREFUSED|connect)/);
    expect(program.hasExited()).toBe(false);
    expect(await history()).toBeUndefined();
    await startIt();
    await until('the release to be applied', async () => (await history())?.[0] === `${OLD} Completed false`);
    expect(await accepted()).toMatchObject({ status: 'True', reason: 'PayloadLoaded' });
    expect(program.hasExited()).toBe(false);
  });

  test('does not keep a cluster from going on with the release it was updated to, which is kept', async () => {
    await client.patch(ClusterVersion, REF, { spec: { desiredUpdate: { version: NEW, image: images.get(NEW) } } }, { type: 'merge' });
    const updated = [`${NEW} Completed true`, `${OLD} Completed false`];
    await until('the update', async () => JSON.stringify(await history()) === JSON.stringify(updated));
    // Nobody asks for it any more; the operator is still started with the first one.
    await client.patch(ClusterVersion, REF, { spec: { desiredUpdate: null } }, { type: 'merge' });
    await operator?.stop();
    await stopIt();
    await drift();
    await start('cache');
    await until('the drift to be mended', async () => (await applied()) === NEW);
    expect(await history()).toEqual(updated);
    expect(await accepted()).toMatchObject({ status: 'True', message: expect.stringContaining(`version="${NEW}"`) });
  });

  test('is waited for by a pod that was moved and has nothing kept: it does not go back to the release it was started with', async () => {
    await operator?.stop();
    await drift();
    await start('cache-of-another-node');
    await until('the registry to be named', async () => (await accepted())?.status === 'False');
    expect((await accepted())?.message).toContain(`version="${NEW}" image="${images.get(NEW)}"`);
    expect(await applied()).toBe('drifted');
    await startIt();
    await until('the drift to be mended', async () => (await applied()) === NEW);
    expect(await history()).toEqual([`${NEW} Completed true`, `${OLD} Completed false`]);
  });
});

test('of a release that pre-caching names nothing is downloaded before it is verified', async () => {
  const image = await push('4.20.3', false);
  const digest = image.split('@')[1] ?? '';
  const served = async () => (await registry?.served())?.requests.filter(({ method, uri }) => method === 'GET' && uri.includes(digest));
  await client.create(ConfigMap, {
    metadata: { namespace: 'openshift-talo-pre-cache', name: 'pre-cache-spec' },
    data: { 'platform.image': image },
  });
  await until('the refusal', async () => (await operator?.output())?.includes('is not read ahead, because it is not verified'));
  expect(await served()).toEqual([]);
  // The signature comes, and with the next look the release: a start looks at once.
  const folder = join(root, 'signatures', digest.replace(':', '='));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'signature-1'), await signed(signatureContent(digest), key));
  await start('cache');
  await until('the release to be at hand', async () => (await operator?.output())?.includes('The files of a release are at hand'));
  expect(await served()).not.toEqual([]);
});
