import { PullerExit } from '@flotilla/api/ran';
import { currentPlatform, type Descriptor } from '@flotilla/registry';
import { type HostileRegistry, MemoryBlobs, startHostileRegistry, type WrittenLayer, writeLayer } from '@flotilla/registry/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canRunContainerd, type PullerNode, startNode, VERSIONS } from './containerd-node.ts';
import { type PullerWorld, REGISTRY_NAME, startPullerWorld } from './image-puller-fixture.ts';

/** Documents as real registries and builders give them: what containerd fetches of them by itself, the puller fetches for it, and nothing else. */

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const { architecture: OURS } = currentPlatform();
const OTHER = OURS === 'amd64' ? 'arm64' : 'amd64';

/** Changes of an image's documents. */
interface Change {
  readonly architecture?: string;
  readonly variant?: string;
  readonly manifest?: object;
  readonly config?: object;
  /** The layer is at an address that the manifest names, and not in the registry. */
  readonly isElsewhere?: boolean;
}

const ELSEWHERE = '/elsewhere';
const FOREIGN = 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip';

let world: PullerWorld;
let registry: HostileRegistry;
beforeAll(async () => {
  world = await startPullerWorld('puller-foreign', [10_000]);
  registry = await startHostileRegistry();
  registry.handlers.push((_, response, path) => path === '/v2/' && Boolean(response.writeHead(200).end('{}')));
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const json = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));

const isBlobOf = (path: string, digest: string): boolean => path.startsWith('/v2/') && path.includes(digest);

/** Serves documents for one row: every row has layers of its own, so that none is there already. */
class Row {
  readonly #name: string;
  readonly layers = new Map<string, string>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Serves an image of one layer, which `layers` has by this word. */
  async image(word: string, { architecture = OURS, variant, manifest, config, isElsewhere }: Change = {}): Promise<Descriptor> {
    const store = new MemoryBlobs();
    const files = [{ path: 'file', content: { bytes: `${this.#name} ${word}` } }];
    const { descriptor, diffId }: WrittenLayer = await writeLayer(store, { content: { files }, compression: 'gzip' });
    this.layers.set(descriptor.digest, word);
    const served = registry.serve(await store.readBlob(descriptor.digest, 2 ** 20), descriptor.mediaType);
    const foreign = { ...served, mediaType: FOREIGN, urls: [`http://${registry.host}${ELSEWHERE}/${served.digest}`] };
    const layer = isElsewhere ? foreign : served;
    if (isElsewhere) registry.handlers.push((_, response, path) => isBlobOf(path, served.digest) && Boolean(response.writeHead(404).end()));
    const rootfs = { type: 'layers', diff_ids: [diffId] };
    const configuration = registry.serve(json({ os: 'linux', architecture, variant, config: {}, rootfs, ...config }), CONFIG);
    return registry.serve(
      json({ schemaVersion: 2, mediaType: MANIFEST, config: configuration, layers: [layer], ...manifest }),
      MANIFEST,
      this.#name,
    );
  }

  index(manifests: readonly unknown[], more: object = {}): Descriptor {
    return registry.serve(json({ schemaVersion: 2, mediaType: INDEX, manifests, ...more }), INDEX, this.#name);
  }

  /** An entry that names its platform. */
  async on(architecture: string, word: string, variant?: string) {
    return { ...(await this.image(word, { architecture, ...(variant && { variant }) })), platform: { os: 'linux', architecture, variant } };
  }
}

const missing = (character: string) => ({ mediaType: MANIFEST, digest: `sha256:${character.repeat(64)}`, size: 3 });
interface Case {
  readonly name: string;
  readonly tag: string;
  readonly serve: (row: Row) => Promise<unknown>;
}
const rows: readonly Case[] = [
  {
    name: 'variants v3 and v2 before the plain one',
    tag: 'variants',
    serve: async (row) => row.index([await row.on(OURS, 'v3', 'v3'), await row.on(OURS, 'v2', 'v2'), await row.on(OURS, 'plain')]),
  },
  {
    name: 'another processor first',
    tag: 'other-first',
    serve: async (row) => row.index([await row.on(OTHER, 'other'), await row.on(OURS, 'plain')]),
  },
  { name: 'platform null', tag: 'platform-null', serve: async (row) => row.index([{ ...(await row.image('plain')), platform: null }]) },
  {
    name: 'an index within an index',
    tag: 'nested',
    serve: async (row) => row.index([row.index([await row.on(OTHER, 'other'), await row.on(OURS, 'plain')])]),
  },
  {
    name: 'an attestation that is not there',
    tag: 'attestation',
    serve: async (row) =>
      row.index([{ ...missing('b'), platform: { os: 'unknown', architecture: 'unknown' } }, await row.on(OURS, 'plain')]),
  },
  {
    name: 'nulls in an index',
    tag: 'nulls-index',
    serve: async (row) => row.index([{ ...(await row.on(OURS, 'plain')), annotations: null }], { annotations: null }),
  },
  {
    name: 'nulls in a manifest and its configuration',
    tag: 'nulls-manifest',
    serve: (row) => row.image('plain', { manifest: { annotations: null }, config: { created: null, author: null, history: null } }),
  },
  {
    name: 'labels null',
    tag: 'nulls-labels',
    serve: (row) => row.image('plain', { config: { config: { Labels: null, Env: null } } }),
  },
];

/** Bytes of the row's layers that crossed the link, by word and by who asked. */
function crossed(node: PullerNode, { layers }: Row): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { digest, by, bytes } of node.registry.transfers) {
    const word = layers.get(digest);
    if (word !== undefined) found[`${word} by the ${by}`] = (found[`${word} by the ${by}`] ?? 0) + bytes;
  }
  return found;
}

describe.skipIf(!canRunContainerd).each(VERSIONS)('with containerd $version', ({ version, program, snapshotter }) => {
  let byItself: PullerNode;
  let filled: PullerNode;
  beforeAll(async () => {
    const options = { program: await program(), snapshotter };
    const foreign = { ...world, registry: { ...world.registry, url: `http://${registry.host}` } };
    [byItself, filled] = [await startNode(foreign, options), await startNode(foreign, options)];
  }, 600_000);
  afterAll(async () => {
    await filled?.[Symbol.asyncDispose]();
    await byItself?.[Symbol.asyncDispose]();
  });

  test.each(rows)('$name', { timeout: 60_000 }, async ({ tag, serve }) => {
    const name = `${tag}-${version.replaceAll(' ', '-')}`;
    const row = new Row(name);
    await serve(row);
    const spec = { additionalImages: `${REGISTRY_NAME}/foreign/app:${name}` };
    const alone = await byItself.run({ FETCH_BLOBS: 'off', RETRY_FOR_SECONDS: '5' }, spec);
    const pulled = await filled.run({ RETRY_FOR_SECONDS: '5' }, spec);
    expect([alone.exitCode, pulled.exitCode], alone.log + pulled.log).toEqual([PullerExit.done, PullerExit.done]);
    const taken = crossed(byItself, row);
    expect(Object.keys(taken)).toEqual(['plain by the runtime']);
    expect(crossed(filled, row)).toEqual({ 'plain by the puller': taken['plain by the runtime'] });
    expect(pulled.last.bytesDone).toBe(taken['plain by the runtime']);
  });

  test('a foreign layer comes from its address, and by the puller where it fills the store', { timeout: 60_000 }, async () => {
    const name = `foreign-${version.replaceAll(' ', '-')}`;
    await new Row(name).image('plain', { isElsewhere: true });
    const spec = { additionalImages: `${REGISTRY_NAME}/foreign/app:${name}` };
    const asked = (): number => registry.requests.filter((request) => request.includes(ELSEWHERE)).length;
    const before = asked();
    const alone = await byItself.run({ FETCH_BLOBS: 'off', RETRY_FOR_SECONDS: '5' }, spec);
    const byRuntime = asked() - before;
    const pulled = await filled.run({ RETRY_FOR_SECONDS: '5' }, spec);
    expect([alone.exitCode, pulled.exitCode], alone.log + pulled.log).toEqual([PullerExit.done, PullerExit.done]);
    expect([byRuntime, asked() - before - byRuntime]).toEqual([1, 1]);
    expect(pulled.last).toMatchObject({ imagesByRuntime: 0 });
  });
});
