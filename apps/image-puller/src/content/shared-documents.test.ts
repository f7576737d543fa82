import { createHash } from 'node:crypto';
import { systemClock } from '@flotilla/pace';
import { currentPlatform, MediaType, parseImageReference, RegistryClient, resolveImage } from '@flotilla/registry';
import { startHostileRegistry } from '@flotilla/registry/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { startMemoryContainerd } from '../../testing/memory-containerd.ts';
import { REPORT, startLead, UNCAPPED } from '../../testing/memory-spoke.ts';
import { Follower } from '../nodes/follower.ts';
import type { BlobSharing } from '../nodes/peer-blobs.ts';
import { openCriStore } from '../pull/cri-store.ts';

const json = (document: unknown): Buffer => Buffer.from(JSON.stringify(document));
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const logger = createLogger({ name: 'test', level: 'silent' });

test('a large configuration crosses the link once for all nodes, and every node has it', { timeout: 60_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const registry = stack.use(await startHostileRegistry());
  const rootfs = { type: 'layers', diff_ids: [digestOf(Buffer.alloc(0))] };
  const large = json({ ...currentPlatform(), rootfs, config: { Labels: { notes: 'x'.repeat(3_000_000) } } });
  const config = registry.serve(large, MediaType.ociConfig);
  const manifest = json({ schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers: [] });
  registry.serve(manifest, MediaType.ociManifest, '1');
  const reference = parseImageReference(`${registry.host}/team/app:1`);
  const client = stack.use(new RegistryClient({ insecureHosts: [registry.host] }));

  const led = stack.use(await startLead({ nodes: ['n0', 'n1'] }));
  const common = { signal: led.signal, clock: systemClock, logger };
  const place = { lead: led.place, nodeName: 'n1', address: '127.0.0.1', blobPort: 0 };
  const follower = stack.use(
    new Follower({ ...common, ...place, readToken: async () => 'n1', report: () => REPORT, isReplaced: async () => false }),
  );
  await follower.join();
  follower.start();
  const read = async (sharing: BlobSharing): Promise<Buffer | undefined> => {
    const containerd = stack.use(await startMemoryContainerd());
    const options = { sockets: [containerd.socket], credentials: { auths: {} }, parallelPulls: 1, retryForMs: 0, random: Math.random };
    const store = stack.use(await openCriStore({ ...common, ...options, sharing, fetching: { client, cap: UNCAPPED } }));
    const documents = store.listContent?.documents;
    await resolveImage(client, reference, { store: documents, signal: led.signal });
    return containerd.blobs.get(config.digest);
  };
  const stored = await Promise.all([led.lead.sharing(), follower.sharing()].map(read));
  expect(stored.map((bytes) => bytes?.equals(large))).toEqual([true, true]);
  // Each node reads the manifest itself.
  expect(registry.servedBytes).toBe(large.length + 2 * manifest.length);
});
