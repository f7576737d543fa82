import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startRegistry } from '@flotilla/control-plane/servers';
import { createRandom, type Relay, startRelay } from '@flotilla/control-plane/simulators';
import { listImageParts, OciLayout, parseImageReference, pushImage, RegistryClient } from '@flotilla/registry';
import { MemoryBlobs, writeImage, writeIndex, writeLayer } from '@flotilla/registry/testing';

/** Rate of each run's link, bytes a second: 20 Mbit/s. What a cut or kill loses grows with it. */
export const LINK_RATE = 2_500_000;

/** What one seeded run did. */
export interface SeededRun {
  seed: number;
  kills: number;
  cuts: number;
  /** Bytes handed to the downloader's connections, HTTP headers included. */
  served: number;
  /** Compressed sizes of all manifests, configurations and layers, each once. */
  needed: number;
  seconds: number;
}

/** A registry with images. */
interface DownloaderFixture extends AsyncDisposable {
  /** Repository and tag or digest, without a host. */
  names: string[];
  digests: string[];
  needed: number;
  registryUrl: string;
  /** Bytes the registry itself wrote, by its log. */
  registryBytes(): Promise<number>;
}

/** Starts a real registry with three images of about 36 MB together that share layers. */
export async function startDownloaderFixture(): Promise<DownloaderFixture> {
  await using stack = new AsyncDisposableStack();
  const registry = stack.use(await startRegistry());
  const { names, parts } = await pushImages(new URL(registry.url).host);
  const { requests } = await registry.served();
  const owned = stack.move();
  return {
    names,
    digests: parts.map((part) => part.digest),
    needed: parts.reduce((sum, part) => sum + part.size, 0),
    registryUrl: registry.url,
    registryBytes: async () => (await registry.served({ since: requests.length })).bytes,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function pushImages(host: string) {
  const random = createRandom(7);
  const store = new MemoryBlobs();
  const layer = (megabytes: number) => {
    const bytes = Buffer.allocUnsafe(megabytes * 1_000_000);
    for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(random() * 2 ** 32), at);
    return writeLayer(store, { content: { files: [{ path: 'data', content: { bytes } }] }, compression: 'none' });
  };
  const platform = { os: 'linux', architecture: 'amd64' };
  const [base, middle] = [await layer(12), await layer(8)];
  const images = [
    await writeImage(store, { layers: [base, await layer(6)], platform }),
    await writeImage(store, { layers: [base, middle, await layer(5)], platform }),
    await writeIndex(store, [await writeImage(store, { layers: [base, middle, await layer(4), await layer(1)], platform })]),
  ];
  await using client = new RegistryClient({ insecureHosts: [host] });
  const parts = new Map<string, { digest: string; size: number }>();
  const names: string[] = [];
  for (const [index, image] of images.entries()) {
    await pushImage({ client, store, image, reference: parseImageReference(`${host}/bench:v${index}`) });
    names.push(index === 0 ? 'bench:v0' : `bench@${image.digest}`);
    const { manifests, blobs } = await listImageParts(store, image);
    for (const part of [...manifests, ...blobs]) parts.set(part.digest, part);
  }
  return { names, parts: [...parts.values()] };
}

/**
 * Downloads everything into a fresh layout while connections are cut at random bytes and the process is killed at random
 * moments, both drawn from the seed. Throws when anything is missing or wrong at the end.
 */
async function runSeed(fixture: DownloaderFixture, seed: number): Promise<SeededRun> {
  const started = performance.now();
  const random = createRandom(seed);
  const directory = await mkdtemp(join(tmpdir(), 'flotilla-downloader-'));
  const faults = {
    bytesPerSecond: LINK_RATE,
    cutAfterBytes: [1, 6_000_000] as const,
    cuts: 2 + Math.floor(random() * 4),
    reset: random() < 0.5,
  };
  await using link = await startRelay(fixture.registryUrl, { seed, faults });
  const job = { directory, images: fixture.names.map((name) => `${link.at}/${name}`), insecureHost: link.at };
  const killsAt = Array.from({ length: 1 + Math.floor(random() * 3) }, () => random() * fixture.needed).sort((a, b) => a - b);
  try {
    let kills = 0;
    for (const at of killsAt) if (await downloadUntil(link, job, at)) kills++;
    await downloadUntil(link, job, undefined);
    await verify(directory, fixture);
    const { toClient, cut } = link.counts();
    return { seed, kills, cuts: cut, served: toClient, needed: fixture.needed, seconds: (performance.now() - started) / 1000 };
  } catch (cause) {
    throw new Error(`seed ${seed} failed`, { cause });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs the downloader; with `killAt`, kills it once that many bytes were served. True when it was killed. */
async function downloadUntil(link: Relay, job: unknown, killAt: number | undefined): Promise<boolean> {
  const program = fileURLToPath(new URL('downloader-child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(job)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const watch = setInterval(() => {
    if (killAt === undefined || child.killed || link.counts().toClient < killAt) return;
    child.kill('SIGKILL');
    // The kernel takes a busy machine's moment to close a dead process's sockets; what a link sends into them is not the downloader's.
    link.cutNow();
  }, 1);
  try {
    const [out, err] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      child.exitCode === null ? once(child, 'exit') : undefined,
    ]);
    if (child.signalCode === 'SIGKILL') return true;
    if (child.exitCode !== 0) throw new Error(`the downloader ended with ${child.exitCode}: ${out.slice(0, 2000)} ${err.slice(0, 2000)}`);
    return false;
  } finally {
    clearInterval(watch);
    child.kill('SIGKILL');
  }
}

async function verify(directory: string, { digests, names }: DownloaderFixture): Promise<void> {
  const layout = await OciLayout.open(directory);
  // Reading verifies the digest.
  for (const digest of digests) await layout.readBlob(digest, 2 ** 30);
  const left = await readdir(join(directory, 'ingest'));
  if (left.length > 0) throw new Error(`partial files left: ${left.join(', ')}`);
  const images = await layout.images();
  if (images.length !== names.length) throw new Error(`${images.length} images named in the layout, expected ${names.length}`);
}

/** Runs all seeds from 1, a few at a time: they mostly wait for their links. Failures are reported, not thrown. */
export async function runSeeds(
  fixture: DownloaderFixture,
  { seeds, parallel = 6, onRun }: { seeds: number; parallel?: number; onRun?: (outcome: SeededRun | Error) => void },
): Promise<{ runs: SeededRun[]; failed: Error[] }> {
  const runs: SeededRun[] = [];
  const failed: Error[] = [];
  let next = 1;
  const worker = async () => {
    while (next <= seeds) {
      const outcome = await runSeed(fixture, next++).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
      if (outcome instanceof Error) failed.push(outcome);
      else runs.push(outcome);
      onRun?.(outcome);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return { runs, failed };
}
