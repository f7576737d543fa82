/** Layers for which a manifest names addresses outside of its registry: what skopeo and containerd take is taken, and asked for where they ask. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runCommand } from '@flotilla/control-plane/processes';
import { expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { RegistryClient } from './client.ts';
import { parseImageReference } from './image-reference.ts';
import { MediaType } from './manifest.ts';
import { resolveImage } from './resolve.ts';

const SKOPEO = '/usr/bin/skopeo';
const PLATFORM = { os: 'linux', architecture: 'amd64' };
const FOREIGN = 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip';
const LAYER = gzipSync('a layer of others');
/** Paths that the other server has. */
const KNOWN: readonly string[] = ['/layer', '/layer?of=others'];

interface Row {
  readonly name: string;
  /** Addresses by the host of the other server. */
  readonly urls: (host: string) => readonly string[];
  readonly isInRegistry: boolean;
  /** Requests for the layer: paths of the other server, and the registry. */
  readonly asked: readonly string[];
  /** False where skopeo ends at an address without the layer. containerd asks the registry after 404, and ours whatever the address answers. */
  readonly skopeo?: false;
  readonly mediaType?: string;
}

const rows: readonly Row[] = [
  { name: 'an address that has it', urls: (host) => [`http://${host}/layer`], isInRegistry: false, asked: ['/layer'] },
  { name: 'an address before the registry', urls: (host) => [`http://${host}/layer`], isInRegistry: true, asked: ['/layer'] },
  {
    name: 'an address of a layer that is not foreign',
    urls: (host) => [`http://${host}/layer`],
    isInRegistry: true,
    asked: ['/layer'],
    mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
  },
  {
    name: 'the second address, which has a query',
    urls: (host) => [`ftp://${host}/layer`, `http://${host}/layer?of=others`],
    isInRegistry: false,
    asked: ['/layer?of=others'],
  },
  { name: 'the registry, where no address is one', urls: (host) => [`ftp://${host}/layer`, ''], isInRegistry: true, asked: ['registry'] },
  {
    name: 'the registry after an address without it',
    urls: (host) => [`http://${host}/elsewhere`],
    isInRegistry: true,
    asked: ['/elsewhere', 'registry'],
    skopeo: false,
  },
  {
    name: 'the registry after an address with a problem',
    urls: (host) => [`http://${host}/broken`],
    isInRegistry: true,
    asked: ['/broken', 'registry'],
    skopeo: false,
  },
  {
    name: 'the registry after an address that wants a password, which it does not get',
    urls: (host) => [`http://${host}/guarded`],
    isInRegistry: true,
    asked: ['/guarded', 'registry'],
    skopeo: false,
  },
];

/** A registry with the image of a row, and another server. */
interface World extends AsyncDisposable {
  readonly registry: HostileRegistry;
  readonly other: HostileRegistry;
  readonly asked: readonly string[];
}

async function startWorld({ urls, isInRegistry, mediaType = FOREIGN }: Row): Promise<World> {
  const [registry, other] = [await startHostileRegistry(), await startHostileRegistry()];
  const asked: string[] = [];
  const config = registry.serve(
    Buffer.from(JSON.stringify({ ...PLATFORM, rootfs: { type: 'layers', diff_ids: [] } })),
    MediaType.ociConfig,
  );
  const layer = { ...registry.serve(LAYER), mediaType, urls: urls(other.host) };
  const manifest = { schemaVersion: 2, mediaType: MediaType.dockerManifest, config, layers: [layer] };
  registry.serve(Buffer.from(JSON.stringify(manifest)), MediaType.dockerManifest, 'v1');
  registry.handlers.push((_, response, path) => {
    if (path === '/v2/') return Boolean(response.writeHead(200).end('{}'));
    if (!path.includes(layer.digest)) return false;
    asked.push('registry');
    return !isInRegistry && Boolean(response.writeHead(404).end());
  });
  other.handlers.push((_, response, path) => {
    asked.push(path);
    const status = { '/guarded': 401, '/broken': 403 }[path] ?? (KNOWN.includes(path) ? 200 : 404);
    response.writeHead(status, status === 401 ? { 'www-authenticate': 'Basic realm="others"' } : {});
    response.end(status === 200 ? LAYER : undefined);
    return true;
  });
  const dispose = async (): Promise<void> => void (await Promise.all([registry, other].map((each) => each[Symbol.asyncDispose]())));
  return { registry, other, asked, [Symbol.asyncDispose]: dispose };
}

test.each(rows)('$name', async (row) => {
  await using world = await startWorld(row);
  const { registry, other } = world;
  const password = { username: 'u', password: 'p' };
  await using client = new RegistryClient({
    insecureHosts: [registry.host],
    credentials: { auths: { [registry.host]: password, [other.host]: password } },
    retry: { attempts: 1 },
  });
  const reference = parseImageReference(`${registry.host}/team/app:v1`);
  const { layers } = await resolveImage(client, reference, { platform: PLATFORM });
  const bytes = await client.readBlob(reference, layers[0] ?? expect.fail(), { maxBytes: 1_000 });
  expect(bytes).toEqual(LAYER);
  expect(world.asked).toEqual(row.asked);
  expect(other.authorizations.filter((header) => header !== undefined)).toEqual([]);
});

test('a layer that no place has is refused by the words of each', async () => {
  await using world = await startWorld({ name: '', urls: (host) => [`http://${host}/elsewhere`], isInRegistry: false, asked: [] });
  const { registry, other } = world;
  await using client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 1 } });
  const reference = parseImageReference(`${registry.host}/team/app:v1`);
  const { layers } = await resolveImage(client, reference, { platform: PLATFORM });
  const reading = client.readBlob(reference, layers[0] ?? expect.fail(), { maxBytes: 1_000 });
  await expect(reading).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_NOT_FOUND' });
  await expect(reading).rejects.toThrow(`${other.host} answered 404; the image names this address for a layer`);
});

test('skopeo takes the same layers from the same places', { timeout: 120_000 }, async ({ skip }) => {
  if (!existsSync(SKOPEO)) return skip('install package skopeo');
  const dir = await mkdtemp(join(tmpdir(), 'foreign-layers-'));
  await using _dir = { [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
  const taken: [string, boolean, readonly string[]][] = [];
  for (const [index, row] of rows.entries()) {
    await using world = await startWorld(row);
    const place = join(dir, String(index));
    const options = ['--insecure-policy', 'copy', '--src-tls-verify=false', '--retry-times=0'];
    const run = runCommand(SKOPEO, [...options, `docker://${world.registry.host}/team/app:v1`, `dir:${place}`], {
      timeoutMs: 20_000,
    });
    const isTaken = await run.then(
      async () => (await readFile(join(place, 'manifest.json'), 'utf8')) !== '',
      () => false,
    );
    taken.push([row.name, isTaken, world.asked]);
  }
  expect(taken).toEqual(
    rows.map(({ name, asked, skopeo = true }) => [name, skopeo, skopeo ? asked : asked.filter((place) => place !== 'registry')]),
  );
});
