/** Documents as real registries and builders give them: the ones that skopeo and containerd take are taken. */
import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { runCommand } from '@flotilla/control-plane/processes';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type HostileRegistry, startHostileRegistry } from '../testing/hostile-registry.ts';
import { RegistryClient } from './client.ts';
import { parseImageReference } from './image-reference.ts';
import { type Descriptor, MediaType } from './manifest.ts';
import { resolveImage } from './resolve.ts';

const SKOPEO = '/usr/bin/skopeo';
const PLATFORM = { os: 'linux', architecture: 'amd64' };

let registry: HostileRegistry;
beforeEach(async () => {
  registry = await startHostileRegistry();
  // skopeo asks before anything else.
  registry.handlers.push((_, response, path) => path === '/v2/' && Boolean(response.writeHead(200).end('{}')));
});
afterEach(() => registry[Symbol.asyncDispose]());

const json = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));

/** Serves an image of one layer with this content; `change` edits manifest and configuration. */
function image(content: string, of: object = PLATFORM, change: { manifest?: object; config?: object } = {}): Descriptor {
  const layer = registry.serve(gzipSync(content), MediaType.ociLayerGzip);
  const rootfs = { type: 'layers', diff_ids: [`sha256:${'1'.repeat(64)}`] };
  const config = registry.serve(json({ ...of, config: {}, rootfs, ...change.config }), MediaType.ociConfig);
  const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers: [layer], ...change.manifest };
  return registry.serve(json(manifest), MediaType.ociManifest, content);
}

const indexOf = (manifests: readonly unknown[], more: object = {}): Buffer =>
  json({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests, ...more });
const index = (...manifests: readonly unknown[]): Descriptor => registry.serve(indexOf(manifests), MediaType.ociIndex, 'v1');
const on = (entry: object, architecture: string, variant?: string) => ({ ...entry, platform: { os: 'linux', architecture, variant } });

interface Row {
  readonly name: string;
  /** Serves the documents under tag `v1`. */
  readonly serve: () => unknown;
  /** Content of the image whose layers are wanted, or `no layers`; absent: there is none for the platform. */
  readonly want: string | undefined;
  /** False where skopeo takes another one, or none; containerd is the yardstick there. */
  readonly skopeo?: false;
}

const SHA512 = `sha512:${'a'.repeat(128)}`;
const rows: readonly Row[] = [
  {
    name: 'amd64/v2 and v3 before the plain one',
    want: 'plain',
    serve: () => index(on(image('v2'), 'amd64', 'v2'), on(image('v3'), 'amd64', 'v3'), on(image('plain'), 'amd64')),
  },
  {
    name: 'amd64/v1, which is the plain one',
    want: 'plain',
    skopeo: false,
    serve: () => index(on(image('v3'), 'amd64', 'v3'), on(image('plain'), 'amd64', 'v1')),
  },
  { name: 'amd64/v3 alone', want: undefined, serve: () => index(on(image('v3'), 'amd64', 'v3')) },
  {
    name: '386 where there is no amd64',
    want: 'old',
    skopeo: false,
    serve: () => index(on(image('arm'), 'arm64'), on(image('old'), '386')),
  },
  { name: 'one entry without a platform', want: 'plain', serve: () => index(image('plain')) },
  {
    name: 'entries without a platform, ours last',
    want: 'plain',
    skopeo: false,
    serve: () => index(image('arm', { os: 'linux', architecture: 'arm64' }), image('plain')),
  },
  { name: 'an entry without a platform before one with', want: 'plain', serve: () => index(image('unnamed'), on(image('plain'), 'amd64')) },
  { name: 'platform null', want: 'plain', serve: () => index({ ...image('plain'), platform: null }) },
  {
    name: 'platform {} of an entry that is not ours',
    want: 'plain',
    serve: () => index({ ...image('other'), platform: {} }, on(image('plain'), 'amd64')),
  },
  {
    name: 'an entry without a platform of another processor alone',
    want: undefined,
    skopeo: false,
    serve: () => index(image('arm', { os: 'linux', architecture: 'arm64' })),
  },
  {
    name: 'an entry without a platform that is no manifest, before ours',
    want: 'plain',
    skopeo: false,
    serve: () => index(registry.serve(json({ schemaVersion: 2, layers: 7 }), MediaType.ociManifest), image('plain')),
  },
  {
    name: 'an index within an index',
    want: 'plain',
    skopeo: false,
    serve: () => index(registry.serve(indexOf([on(image('arm'), 'arm64'), on(image('plain'), 'amd64')]), MediaType.ociIndex)),
  },
  {
    name: 'an attestation that is not there',
    want: 'plain',
    serve: () =>
      index(
        {
          mediaType: MediaType.ociManifest,
          digest: `sha256:${'b'.repeat(64)}`,
          size: 3,
          platform: { os: 'unknown', architecture: 'unknown' },
        },
        on(image('plain'), 'amd64'),
      ),
  },
  {
    name: 'a sha512 digest of another processor',
    want: 'plain',
    serve: () => index(on({ ...image('arm'), digest: SHA512 }, 'arm64'), on(image('plain'), 'amd64')),
  },
  {
    name: 'nulls in an index',
    want: 'plain',
    serve: () =>
      registry.serve(indexOf([{ ...on(image('plain'), 'amd64'), annotations: null }], { annotations: null }), MediaType.ociIndex, 'v1'),
  },
  { name: 'nulls in a manifest', want: 'v1', serve: () => image('v1', PLATFORM, { manifest: { annotations: null } }) },
  { name: 'mediaType null', want: 'v1', serve: () => image('v1', PLATFORM, { manifest: { mediaType: null } }) },
  { name: 'no schemaVersion', want: 'v1', skopeo: false, serve: () => image('v1', PLATFORM, { manifest: { schemaVersion: null } }) },
  {
    name: 'nulls in a configuration',
    want: 'v1',
    serve: () => image('v1', PLATFORM, { config: { created: null, author: null, config: null, history: null } }),
  },
  { name: 'labels null', want: 'v1', serve: () => image('v1', PLATFORM, { config: { config: { Labels: null, Env: null } } }) },
  {
    name: 'layers and diff_ids null',
    want: 'no layers',
    serve: () => image('v1', PLATFORM, { manifest: { layers: null }, config: { rootfs: { type: 'layers', diff_ids: null } } }),
  },
  {
    name: 'rootfs without a type',
    want: 'v1',
    serve: () => image('v1', PLATFORM, { config: { rootfs: { diff_ids: [`sha256:${'1'.repeat(64)}`] } } }),
  },
  {
    name: 'a foreign layer with its addresses',
    want: 'v1',
    serve: () => {
      const mediaType = 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip';
      const layer = { ...registry.serve(gzipSync('v1')), mediaType, urls: ['https://layers.test/v1', 'ftp://layers.test/v1'] };
      const config = registry.serve(json({ ...PLATFORM, config: {} }), 'application/vnd.docker.container.image.v1+json');
      const manifest = { schemaVersion: 2, mediaType: MediaType.dockerManifest, config, layers: [layer] };
      registry.serve(json(manifest), MediaType.dockerManifest, 'v1');
    },
  },
  {
    name: 'urls null, or none',
    want: 'v1',
    serve: () => {
      const layer = { ...registry.serve(gzipSync('v1')), mediaType: MediaType.ociLayerGzip, urls: null };
      image('v1', PLATFORM, {
        manifest: { layers: [layer], config: { ...registry.serve(json(PLATFORM), MediaType.ociConfig), urls: [] } },
      });
    },
  },
  {
    name: 'gzip that nobody asked for',
    want: 'v1',
    serve: () => {
      const bytes = gzipSync(
        json({
          schemaVersion: 2,
          mediaType: MediaType.ociManifest,
          config: registry.serve(json(PLATFORM), MediaType.ociConfig),
          layers: [registry.serve(gzipSync('v1'), MediaType.ociLayerGzip)],
        }),
      );
      registry.handlers.push((_, response, path) => {
        if (!path.endsWith('/manifests/v1')) return false;
        response
          .writeHead(200, { 'content-type': MediaType.ociManifest, 'content-encoding': 'gzip', 'content-length': bytes.length })
          .end(bytes);
        return true;
      });
    },
  },
  ...(['', 'repository:other/app:pull', undefined] as const).map((scope) => ({
    name: `a challenge with ${scope === undefined ? 'no scope' : `scope "${scope}"`}, its token in gzip`,
    want: 'v1',
    serve: () => challenge(scope),
  })),
];

/** Wants a token for the repository itself, whatever the challenge says. */
function challenge(scope: string | undefined): void {
  image('v1');
  registry.handlers.unshift((request, response, path) => {
    const { pathname, searchParams } = new URL(path, 'http://registry.test');
    if (pathname === '/token') {
      const token = searchParams.getAll('scope').some((one) => one.startsWith('repository:team/app:')) ? 'good' : 'bad';
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify({ token, expires_in: null, issued_at: null })));
      return true;
    }
    if (request.headers.authorization === 'Bearer good') return false;
    const named = scope === undefined ? '' : `,scope="${scope}"`;
    response.writeHead(401, { 'www-authenticate': `Bearer realm="http://${registry.host}/token",service="s"${named}` }).end();
    return true;
  });
}

test.each(rows)('$name', async ({ serve, want }) => {
  serve();
  await using client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 1 } });
  const resolving = resolveImage(client, parseImageReference(`${registry.host}/team/app:v1`), { platform: PLATFORM });
  if (want === undefined) await expect(resolving).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_NO_PLATFORM' });
  else expect((await resolving).layers.map(({ digest }) => digest)).toEqual(layersOf(want));
});

test('the only entry is no manifest: it is named, instead of platforms', async () => {
  index(registry.serve(json({ schemaVersion: 2, layers: 7 }), MediaType.ociManifest));
  await using client = new RegistryClient({ insecureHosts: [registry.host], retry: { attempts: 1 } });
  const resolving = resolveImage(client, parseImageReference(`${registry.host}/team/app:v1`), { platform: PLATFORM });
  await expect(resolving).rejects.toMatchObject({ code: 'FLOTILLA_REGISTRY_BAD_MANIFEST' });
});

const layersOf = (content: string): string[] => (content === 'no layers' ? [] : [registry.serve(gzipSync(content)).digest]);

test('skopeo takes the same images', { timeout: 120_000 }, async ({ skip }) => {
  if (!existsSync(SKOPEO)) return skip('install package skopeo');
  const taken: [string, string[] | undefined][] = [];
  const wanted: [string, string[] | undefined][] = [];
  for (const { name, serve, want, skopeo } of rows) {
    if (skopeo === false) continue;
    await using own = await startHostileRegistry();
    own.handlers.push((_, response, path) => path === '/v2/' && Boolean(response.writeHead(200).end('{}')));
    registry = own;
    serve();
    const options = ['--override-os', PLATFORM.os, '--override-arch', PLATFORM.architecture, 'inspect', '--tls-verify=false', '--no-tags'];
    const run = runCommand(SKOPEO, [...options, `docker://${own.host}/team/app:v1`], { timeoutMs: 20_000 });
    const layers = await run.then(
      (stdout): string[] => JSON.parse(stdout).Layers ?? [],
      () => undefined,
    );
    taken.push([name, layers]);
    wanted.push([name, want === undefined ? undefined : layersOf(want)]);
  }
  registry = await startHostileRegistry();
  expect(taken).toEqual(wanted);
});
