import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { readEnvironment } from '../../environment.ts';
import { goBuild, type Log } from '../../toolchain/go-build.ts';
import { moduleFolder } from '../../toolchain/tool-sets.ts';

/** Name of the sandbox image in a node's store. */
export const PAUSE_IMAGE = 'local.test/pause:1';

/** A static program that sleeps and reaps orphans; built once into the cache. Returns its path. */
export async function ensurePauseProgram(log: Log): Promise<string> {
  const source = moduleFolder('pause');
  const hash = createHash('sha256').update(process.arch);
  for (const file of ['go.mod', 'main.go']) hash.update(await readFile(join(source, file)));
  const target = join(readEnvironment().cacheDir, 'tools', hash.digest('hex').slice(0, 16), 'pause');
  await goBuild(
    {
      label: 'pause program',
      target,
      moduleDir: source,
      packages: { pause: 'flotilla.dev/tools/pause' },
      coldBuild: 'about 20 s',
      linkerFlags: '-s -w',
      env: { CGO_ENABLED: '0' },
    },
    { log },
  );
  return join(target, 'pause');
}

/** Writes an OCI archive of an image that holds one program, for `ctr images import`; no container engine needed. */
export async function writeProgramImage(archive: string, program: string, name: string): Promise<void> {
  const layer = await tar([{ name: 'pause', mode: 0o755, body: await readFile(program) }]);
  const platform = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
  const config = json({ ...platform, config: { Entrypoint: ['/pause'] }, rootfs: { type: 'layers', diff_ids: [digestOf(layer)] } });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: describeBlob('application/vnd.oci.image.config.v1+json', config),
    layers: [describeBlob('application/vnd.oci.image.layer.v1.tar', layer)],
  });
  const entry = {
    ...describeBlob('application/vnd.oci.image.manifest.v1+json', manifest),
    platform,
    annotations: { 'io.containerd.image.name': name },
  };
  const files = [layer, config, manifest].map((body) => ({ name: `blobs/sha256/${digestOf(body).slice('sha256:'.length)}`, body }));
  const index = { name: 'index.json', body: json({ schemaVersion: 2, manifests: [entry] }) };
  await writeFile(archive, await tar([{ name: 'oci-layout', body: json({ imageLayoutVersion: '1.0.0' }) }, index, ...files]));
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const digestOf = (body: Buffer): string => `sha256:${createHash('sha256').update(body).digest('hex')}`;
const describeBlob = (mediaType: string, body: Buffer) => ({ mediaType, digest: digestOf(body), size: body.length });

async function tar(files: readonly { name: string; body: Buffer; mode?: number }[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, body, mode = 0o644 } of files) archive.entry({ name, mode, mtime: new Date(0) }, body);
  archive.finalize();
  return await buffer(archive);
}
