import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { type ApiServer, type Registry, startApiServer, startRegistry } from '@flotilla/control-plane/servers';
import { settled } from '@flotilla/pace/testing';
import { RegistryClient } from '@flotilla/registry';
import { pushFiles } from '@flotilla/registry/testing';
import {
  buildReleased,
  buildReleaseHead,
  buildSignersOf,
  type ReleaseFiles as Files,
  INCLUDED,
  payloadFilesOf,
  releaseTexts,
  signatureContent,
  signed,
  type TestKey,
  testKey,
} from '@flotilla/release/testing';
import { type Client, createLogger, systemClock } from '@flotilla/runtime';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runVersionOperator } from '../operator.ts';
import { releaseImages } from './release-image.ts';
import { registrySource } from './release-source.ts';

const REF = { name: 'version' };

let server: ApiServer;
let client: Client;
let registry: Registry;
let pusher: RegistryClient;
let host = '';
let root = '';
let key: TestKey;
let foreign: TestKey;
let running: Promise<void>;
const stop = new AbortController();
let releases = 0;

const object = (kind: string, name: string, rest: object = {}, apiVersion = 'v1'): string =>
  JSON.stringify(buildReleased(apiVersion, kind, name, { ...rest }));
const release = (version: string, manifests: Files): Files => ({
  ...buildReleaseHead(version),
  'manifests/0000_00_cluster-version-operator_00.json': object('Namespace', 'own'),
  ...manifests,
});
/** Manifest whose object would show that a bad release was applied. */
const marker: Files = { 'release-manifests/0000_10_marker_00.json': object('Namespace', 'from-bad-release') };
const bad = (manifests: Files, version = '4.20.2'): Files => release(version, { ...marker, ...manifests });
const without = (path: string, files: Files): Files => Object.fromEntries(Object.entries(files).filter(([name]) => name !== path));
const BROKEN = 'release-manifests/0000_20_broken_00.yaml';

/** Pushes a release; says its pull spec by digest. */
async function push(files: Files, raw?: AsyncIterable<Buffer>): Promise<string> {
  const name = `${host}/releases/r${++releases}`;
  return `${name}@${await pushFiles(pusher, `${name}:1`, releaseTexts(files), { tar: raw })}`;
}

const digestOf = (pullSpec: string): string => pullSpec.split('@')[1] ?? '';
/** Signs a digest into the folder that is a signature store. */
async function signRelease(pullSpec: string, by: TestKey, digest = digestOf(pullSpec)): Promise<void> {
  const folder = join(root, 'signatures', digestOf(pullSpec).replace(':', '='));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'signature-1'), await signed(signatureContent(digest), by));
}

async function* piecesOf(archive: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const piece of archive) if (Buffer.isBuffer(piece)) yield piece;
}

const eventually = <T>(ask: () => Promise<T>): Promise<T> => settled(ask, { timeout: 90_000, interval: 100 });
const version = async () => {
  const found = await client.get(ClusterVersion, REF);
  if (!found) throw new Error('no ClusterVersion');
  return found;
};
const condition = async (type: string) => (await version()).status?.conditions?.find((one) => one.type === type);
const want = (desiredUpdate: object | null) => client.patch(ClusterVersion, REF, { spec: { desiredUpdate } }, { type: 'merge' });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-releases-'));
  await mkdir(join(root, 'signatures'));
  [key, foreign] = await Promise.all([testKey(), testKey()]);
  [server, registry] = await Promise.all([startApiServer(), startRegistry()]);
  client = await server.client();
  host = new URL(registry.url).host;
  pusher = new RegistryClient({ insecureHosts: [host] });
  for (const crd of configCrds()) await client.create(CustomResourceDefinition, crd);
  for (const name of ['openshift-config-managed', 'openshift-config', 'openshift-cluster-version'])
    await client.create(Namespace, { metadata: { name } });
  await eventually(() => client.create(ClusterVersion, { metadata: REF, spec: { clusterID: crypto.randomUUID() } }));
  const own = release('4.20.1', {
    'release-manifests/0000_90_keys_00.json': buildSignersOf(key.publicKey.armor(), pathToFileURL(join(root, 'signatures')).href),
  });
  const files = payloadFilesOf(own);
  const logger = createLogger({ name: 'test', level: 'error' });
  const images = releaseImages({ client: pusher, cacheFolder: join(root, 'cache'), logger });
  running = runVersionOperator(
    {
      client,
      given: { image: () => `${host}/releases/own@sha256:${'0'.repeat(64)}`, read: () => files, isFolder: true },
      reopen: (image, until) => images.read(image, until),
      source: (surroundings) => registrySource({ client, images, isKeeping: true, clock: systemClock, logger, ...surroundings }),
      profile: 'self-managed-high-availability',
      alwaysEnabled: [],
      degradedBlocks: () => true,
      passEveryMs: 180_000,
      instance: 'test',
      logger,
      clock: systemClock,
    },
    stop.signal,
  );
  await eventually(async () => expect((await version()).status?.history?.[0]).toMatchObject({ state: 'Completed', version: '4.20.1' }));
});
afterAll(async () => {
  stop.abort();
  await running;
  await pusher?.close();
  await Promise.all([server?.stop(), registry?.stop()]);
  if (root) await rm(root, { recursive: true, force: true });
});

/** Asks for a release and waits for what is said of it. */
async function refused(image: string, asked = '4.20.2'): Promise<{ reason: string; message: string }> {
  await want({ version: asked, image });
  return eventually(async () => {
    const found = await condition('ReleaseAccepted');
    if (found?.status !== 'False' || !found.message.includes(image)) throw new Error(`not yet: ${found?.status} ${found?.message}`);
    return { reason: found.reason, message: found.message };
  });
}

describe('a release that is refused', () => {
  test.each<{ name: string; files: Files; reason?: string; why: RegExp; asked?: string }>([
    {
      name: 'lacks its metadata',
      files: without('release-manifests/release-metadata', bad({})),
      why: /has no release-manifests\/release-metadata/,
    },
    {
      name: 'lacks a folder',
      files: without('manifests/0000_00_cluster-version-operator_00.json', bad({})),
      why: /has no folder manifests\//,
    },
    {
      name: 'is put together of two',
      files: { ...bad({}), 'release-manifests/release-metadata': '{"kind":"cincinnati-metadata-v0","version":"4.20.3"}' },
      why: /version from image-references \(4\.20\.2\) differs from release-metadata \(4\.20\.3\)/,
    },
    {
      name: 'is not the one that was asked for',
      files: bad({}, '4.20.3'),
      reason: 'VerifyPayloadVersion',
      why: /release image version 4\.20\.3 does not match the expected upstream version 4\.20\.2/,
    },
    { name: 'has a malformed manifest', files: bad({ [BROKEN]: 'kind: [' }), why: /parse release-manifests\/0000_20_broken_00\.yaml: / },
    {
      name: 'has an object without a name',
      files: bad({ [BROKEN]: 'kind: A\n' }),
      why: /0000_20_broken_00\.yaml: .*must contain kubernetes required fields/,
    },
    {
      name: 'has an object twice in a file',
      files: bad({ [BROKEN]: ['a', 'a'].map((name) => object('Namespace', name)).join('\n---\n') }),
      why: /0000_20_broken_00\.yaml: duplicate resource: \(Group: "" Kind: "Namespace" Name: "a"\)/,
    },
    {
      name: 'has YAML whose aliases multiply',
      files: bad({
        [BROKEN]: `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}*a${n}]\n`).join('')}`,
      }),
      why: /0000_20_broken_00\.yaml: /,
    },
    { name: 'has YAML that nests without end', files: bad({ [BROKEN]: `a: ${'['.repeat(5_000)}` }), why: /0000_20_broken_00\.yaml: / },
    { name: 'has YAML of no characters', files: bad({ [BROKEN]: 'a: \u0000\u0001\n\tb: 1' }), why: /0000_20_broken_00\.yaml: / },
    {
      name: 'has a file that is too large',
      files: bad({ [BROKEN]: '#'.repeat(5 * 1024 * 1024) }),
      reason: 'RetrievePayload',
      why: /0000_20_broken_00\.yaml" has 5242880 bytes, at most 4194304 are read/,
    },
  ])('because it $name', async ({ files, reason = 'LoadPayload', why }) => {
    const image = await push(files);
    await signRelease(image, key);
    const told = await refused(image);
    expect(told.reason).toBe(reason);
    expect(told.message).toMatch(why);
  });

  test('because its archive leads out of its folder', async () => {
    const archive = pack();
    for (const [path, text] of Object.entries(releaseTexts(bad({})))) archive.entry({ name: path }, text);
    archive.entry({ name: 'release-manifests/../../../etc/cron.d/x' }, '* * * * * root id');
    archive.finalize();
    const image = await push({}, piecesOf(archive));
    await signRelease(image, key);
    expect(await refused(image)).toMatchObject({
      reason: 'RetrievePayload',
      message: expect.stringMatching(/Unable to download and prepare the update: .*etc\/cron\.d\/x.*\.\." in the path/),
    });
  });

  test.each<{ name: string; sign: (image: string) => Promise<void>; why: RegExp }>([
    {
      name: 'nobody signed it',
      sign: async () => undefined,
      why: /unable to verify sha256:\w+ against keyrings: verifier-public-key-tests/,
    },
    {
      name: 'somebody else signed it',
      sign: (image) => signRelease(image, foreign),
      why: /unable to verify sha256:\w+ against keyrings: verifier-public-key-tests \(/,
    },
    {
      name: 'what was signed is another one',
      sign: (image) => signRelease(image, key, `sha256:${'1'.repeat(64)}`),
      why: /the signature is of sha256:1+, not of sha256:/,
    },
  ])('because $name', async ({ sign, why }) => {
    const image = await push(bad({}));
    await sign(image);
    const told = await refused(image);
    expect(told.reason).toBe('RetrievePayload');
    expect(told.message).toContain('The update cannot be verified: ');
    expect(told.message).toMatch(why);
  });

  test('because it is named by a tag', async () => {
    const image = (await push(bad({}))).replace(/@.*/, ':1');
    expect((await refused(image)).message).toContain('release images that are not accessed via digest cannot be verified');
  });

  test('because no registry has it', async () => {
    const image = `${host}/releases/r1@sha256:${'2'.repeat(64)}`;
    await signRelease(image, key);
    const told = await refused(image);
    expect(told.message).toMatch(/Unable to download and prepare the update: .*(404|not there|not found|unknown)/i);
  });

  test('leaves the cluster as it was', async () => {
    expect(await client.get(Namespace, { name: 'from-bad-release' })).toBeUndefined();
    const { status } = await version();
    expect(status?.desired?.version).toBe('4.20.1');
    expect(status?.history?.map(({ version }) => version)).toEqual(['4.20.1']);
  });
});

test('a signed release is applied after all of them, and its signature is kept', async () => {
  const image = await push(release('4.20.2', { 'release-manifests/0000_10_good_00.json': object('Namespace', 'from-good-release') }));
  await signRelease(image, key);
  await want({ version: '4.20.2', image });
  await eventually(async () =>
    expect((await version()).status?.history?.[0]).toMatchObject({ state: 'Completed', version: '4.20.2', image, verified: true }),
  );
  expect(await client.get(Namespace, { name: 'from-good-release' })).toBeDefined();
  const kept = await client.request('GET', '/api/v1/namespaces/openshift-config-managed/configmaps/signatures-managed');
  expect(JSON.stringify(kept)).toContain(`"${digestOf(image).replace(':', '-')}-1"`);
});

describe('a release that cannot be applied says what of it, and nothing behind that is applied', () => {
  const after: Files = { 'release-manifests/0000_30_after_00.json': object('Namespace', 'behind-a-bad-one') };
  const configMap = (name: string, rest: object, metadata: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'own', annotations: INCLUDED, ...metadata },
    ...rest,
  });
  const owned = (name: string, by: string): object =>
    configMap(name, {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: by }] });

  test.each<{ name: string; of: string; manifests: Files; reason: string; why: RegExp }>([
    {
      name: 'a kind that nobody knows',
      of: '4.20.3',
      manifests: { [BROKEN]: object('Ghost', 'x', {}, 'nobody.example/v1') },
      reason: 'UpdatePayloadResourceTypeMissing',
      why: /Could not update ghost "x" \(2 of 3\): the server does not recognize this resource/,
    },
    {
      name: 'owners in a circle',
      of: '4.20.4',
      manifests: { [BROKEN]: [owned('a', 'b'), owned('b', 'a')].map((one) => JSON.stringify(one)).join('\n---\n') },
      reason: 'UpdatePayloadResourceInvalid',
      why: /Could not update configmap "own\/a" \(2 of 4\): the object is invalid/,
    },
    {
      name: 'an object that is too large',
      of: '4.20.5',
      manifests: { [BROKEN]: JSON.stringify(configMap('large', { data: { a: 'x'.repeat(1_200_000) } })) },
      reason: 'UpdatePayloadResourceInvalid',
      why: /Could not update configmap "own\/large" \(2 of 3\): the object is invalid/,
    },
  ])('$name', async ({ of, manifests, reason, why }) => {
    const image = await push(release(of, { ...manifests, ...after }));
    await signRelease(image, key);
    // the release that is applied says who signs the next one; this one does not, so that only force goes on from here
    await want({ version: of, image, force: true });
    await eventually(async () => {
      const found = await condition('Failing');
      expect(found).toMatchObject({ status: 'True', reason, message: expect.stringMatching(why) });
    });
    expect((await version()).status?.history?.[0]).toMatchObject({ state: 'Partial', version: of });
    expect(await client.get(Namespace, { name: 'behind-a-bad-one' })).toBeUndefined();
  });
});
