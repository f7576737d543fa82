import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { RegistryError, RegistryErrorCode } from './errors.ts';
import { listImageParts } from './image-graph.ts';
import { type OciLayout, REF_NAME } from './layout.ts';
import { MediaType } from './manifest.ts';

/**
 * Writes images of a layout as one OCI archive, which `ctr -n k8s.io images import FILE` takes with their names. `names`
 * chooses; default all. The file appears whole or not at all.
 * @throws RegistryError `FLOTILLA_REGISTRY_BAD_LAYOUT` for a name that is not in the layout.
 */
export async function exportArchive(layout: OciLayout, file: string, options: { names?: readonly string[] } = {}): Promise<void> {
  const all = await layout.images();
  const missing = options.names?.find((name) => !all.some((entry) => entry.annotations?.[REF_NAME] === name));
  if (missing !== undefined) throw new RegistryError(RegistryErrorCode.badLayout, `image "${missing}" is not in ${layout.directory}`);
  const entries = all.filter((entry) => !options.names || options.names.includes(entry.annotations?.[REF_NAME] ?? ''));
  const digests = new Set<string>();
  for (const entry of entries) {
    const { manifests, blobs } = await listImageParts(layout, entry);
    for (const part of [...manifests, ...blobs]) digests.add(part.digest);
  }
  const index = JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: entries });
  const temporary = `${file}.tmp`;
  try {
    const archive = pack();
    const filling = fill(archive, { layout, index, digests: [...digests].sort() }).catch((error: unknown) =>
      archive.destroy(toError(error)),
    );
    await pipeline(archive, createWriteStream(temporary));
    await filling;
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function fill(
  archive: ReturnType<typeof pack>,
  { layout, index, digests }: { layout: OciLayout; index: string; digests: readonly string[] },
): Promise<void> {
  const owner = { uid: 0, gid: 0, mtime: new Date(0), mode: 0o644 };
  archive.entry({ ...owner, name: 'oci-layout' }, JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  archive.entry({ ...owner, name: 'index.json' }, index);
  for (const digest of digests) {
    const { size } = await stat(layout.blobPath(digest));
    await new Promise<void>((resolve, reject) => {
      const entry = archive.entry({ ...owner, name: `blobs/sha256/${digest.slice('sha256:'.length)}`, size }, (error) =>
        error ? reject(error) : resolve(),
      );
      pipeline(Readable.from(layout.openBlob(digest), { objectMode: false }), entry).catch(reject);
    });
  }
  archive.finalize();
}

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
