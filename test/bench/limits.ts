/** Bytes a second of the whole fleet at one registry, with real pullers on simulated spokes. See `--help`. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@flotilla/api/core';
import { ClusterGroupUpgrade, FleetLimitsName, PreCachingConfig, PrecacheSpecKey, PullerExit, SpokeName } from '@flotilla/api/ran';
import { registerStop } from '@flotilla/control-plane/processes';
import { startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes, type SimulatedSpokes, startSimulatedSpokes } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { currentPlatform, MediaType } from '@flotilla/registry';
import { type HostileRegistry, startHostileRegistry } from '@flotilla/registry/testing';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { applyCrds } from '../fixtures/crds.ts';
import { startHub } from '../support/programs.ts';
import { startPuller } from '../system/image-puller-fixture.ts';
import { print, runBench, whole } from './bench-program.ts';
import { percentile, round } from './statistics.ts';

const USAGE = `bench:limits -- [--spokes 60] [--upgrades 3] [--pulling 10] [--rate 6000000] [--second-rate 3000000] [--change-after 40] [--image 10000000]
So many upgrades share the spokes. --rate, --second-rate: bytes a second of all pulls, and from --change-after seconds on.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, the hub as a process, simulated spokes by works in this process. For each Job on a spoke the
puller's program runs, with the ConfigMap of the spoke as its folder, which this bench brings up to date twice a second as a kubelet would in a
minute. One registry in this process serves all of them and counts bytes as it sends them, in bins of a second.`;

const Arguments = z.object({
  spokes: whole(60),
  upgrades: whole(3),
  pulling: whole(10),
  rate: whole(6_000_000),
  'second-rate': whole(3_000_000),
  'change-after': whole(40),
  image: whole(10_000_000),
});
type Arguments = z.output<typeof Arguments>;

const LIMITS = { namespace: 'default', name: FleetLimitsName.configMap };
const PATIENCE_MS = 1_800_000;
/** Milliseconds after a change in which caps may not hold yet. */
const SETTLING_MS = 60_000;

/** Serves an image of four layers. */
function serveImage(registry: HostileRegistry, size: number): string {
  const layers = Array.from({ length: 4 }, () => registry.serve(randomBytes(Math.floor(size / 4)), MediaType.ociLayerGzip));
  const rootfs = { type: 'layers', diff_ids: layers.map(({ digest }) => digest) };
  const serve = (document: object, type: string) => registry.serve(Buffer.from(JSON.stringify(document)), type);
  const config = serve({ ...currentPlatform(), rootfs }, MediaType.ociConfig);
  const manifest = serve({ schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers }, MediaType.ociManifest);
  return `${registry.host}/team/app@${manifest.digest}`;
}

/** Pullers of the spokes whose Job is there. */
class Pullers {
  readonly exits: (number | null)[] = [];
  most = 0;
  #running = 0;
  readonly #started = new Set<string>();
  readonly #deps: { readonly spokes: SimulatedSpokes; readonly dir: string; readonly image: string; readonly host: string };

  constructor(deps: { readonly spokes: SimulatedSpokes; readonly dir: string; readonly image: string; readonly host: string }) {
    this.#deps = deps;
  }

  /** Starts those that are to run, and brings the caps of the others up to date. */
  async look(): Promise<void> {
    for (const name of this.#deps.spokes.names) {
      const cap = this.#capOn(name);
      if (this.#started.has(name)) await this.#bring(name, cap);
      else if (this.#deps.spokes.jobsCreated(name).length > 0) {
        this.#started.add(name);
        await mkdir(this.#folder(name), { recursive: true });
        await this.#bring(name, cap);
        void this.#run(name);
      }
    }
  }

  async #run(name: string): Promise<void> {
    const { spokes, image, host } = this.#deps;
    const folder = this.#folder(name);
    await writeFile(join(folder, PrecacheSpecKey.additionalImages), image);
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    const mirrors = JSON.stringify([{ source: host, mirrors: [], insecure: true }]);
    const env = {
      CONFIG_VOLUME_PATH: folder,
      STORE: 'layout',
      LAYOUT_DIR: join(folder, 'layout'),
      SPACE_PATH: folder,
      REGISTRY_CONFIG: mirrors,
    };
    const { exitCode } = await (await startPuller(folder, {}, env)).finished;
    this.#running -= 1;
    this.exits.push(exitCode);
    // Its Job ends with it.
    spokes.setFaults(name, exitCode === PullerExit.done ? {} : { failJob: true });
  }

  #folder(name: string): string {
    return join(this.#deps.dir, name);
  }

  async #bring(name: string, cap: string | undefined): Promise<void> {
    const file = join(this.#folder(name), 'bandwidth');
    if (cap === undefined) await rm(file, { force: true });
    else await writeFile(file, cap);
  }

  #capOn(name: string): string | undefined {
    const store = this.#deps.spokes.store(name);
    const kind = store.kinds.find((served) => served.kind === 'ConfigMap');
    const found = kind && store.read(kind, SpokeName.namespace, SpokeName.specConfigMap);
    const data: unknown = found && Object(found).data;
    const cap: unknown = Object(data).bandwidth;
    return typeof cap === 'string' ? cap : undefined;
  }
}

const setLimits = (client: Client, limits: object) =>
  client.patch(ConfigMap, LIMITS, { data: { [FleetLimitsName.key]: JSON.stringify(limits) } }, { type: 'merge' });

async function main(args: Arguments): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  const stop = registerStop(() => rm(dir, { recursive: true, force: true }));
  try {
    await using server = await startApiServer();
    const client = await server.client();
    await applyCrds(client);
    await using registry = await startHostileRegistry();
    const names = Array.from({ length: args.spokes }, (_, index) => `spoke-${index + 1}`);
    await registerSpokes(client, names);
    const faults = Object.fromEntries(names.map((name) => [name, { jobsHeld: true }]));
    await using spokes = await startSimulatedSpokes({ client, names, seed: 1, job: { seconds: 0.2, jitter: 0, startupMs: 100 }, faults });
    await client.create(ConfigMap, { metadata: LIMITS, data: {} });
    await setLimits(client, { pulling: args.pulling, bytesPerSecond: args.rate });
    const image = serveImage(registry, args.image);
    await client.create(PreCachingConfig, { metadata: { namespace: 'default', name: 'bench' }, spec: { additionalImages: [image] } });
    await using hub = await startHub(server.kubeconfig, dir, [
      '--precache-image',
      'registry.example/image-puller:bench',
      '--transport',
      'work',
    ]);
    await eventually(async () => (await hub.output()).includes('Caches are filled'), 'the hub to lead', 60_000);
    await measure(args, { client, registry, pullers: new Pullers({ spokes, dir, image, host: registry.host }) });
    await client.close();
  } finally {
    await stop();
  }
}

async function measure(
  args: Arguments,
  { client, registry, pullers }: { readonly client: Client; readonly registry: HostileRegistry; readonly pullers: Pullers },
): Promise<void> {
  const share = Math.ceil(args.spokes / args.upgrades);
  for (let index = 0; index < args.upgrades; index += 1) {
    const clusters = Array.from({ length: Math.min(share, args.spokes - index * share) }, (_, at) => `spoke-${index * share + at + 1}`);
    const spec = {
      clusters,
      preCaching: true,
      preCachingConfigRef: { name: 'bench' },
      enable: false,
      remediationStrategy: { maxConcurrency: 10, timeout: 240 },
    };
    await client.create(ClusterGroupUpgrade, { metadata: { namespace: 'default', name: `bench-${index + 1}` }, spec });
  }
  const start = performance.now();
  const samples: { readonly at: number; readonly bytes: number }[] = [];
  const sampling = setInterval(() => samples.push({ at: performance.now() - start, bytes: registry.servedBytes }), 1_000);
  let changedAt: number | undefined;
  try {
    const isOver = async () => {
      await pullers.look();
      if (changedAt === undefined && performance.now() - start >= args['change-after'] * 1_000) {
        await setLimits(client, { pulling: args.pulling, bytesPerSecond: args['second-rate'] });
        changedAt = performance.now() - start;
      }
      return pullers.exits.length === args.spokes;
    };
    await eventually(isOver, 'every puller to end', PATIENCE_MS, 500);
  } finally {
    clearInterval(sampling);
  }
  report(args, { samples, changedAt: changedAt ?? Number.POSITIVE_INFINITY, pullers });
}

function report(
  args: Arguments,
  {
    samples,
    changedAt,
    pullers,
  }: {
    readonly samples: readonly { readonly at: number; readonly bytes: number }[];
    readonly changedAt: number;
    readonly pullers: Pullers;
  },
): void {
  // A timer that is late makes a bin longer than a second.
  const bins = samples.slice(1).map(({ at, bytes }, index) => {
    const before = samples[index] ?? { at: 0, bytes: 0 };
    return { at, rate: ((bytes - before.bytes) * 1_000) / Math.max(at - before.at, 1_000) };
  });
  const before = bins.filter(({ at }) => at < changedAt);
  const after = bins.filter(({ at }) => at >= changedAt + SETTLING_MS);
  const line = (what: string, of: typeof bins, cap: number): number => {
    const rates = of.map(({ rate }) => rate / cap);
    const worst = rates.length > 0 ? Math.max(...rates) : 0;
    print(
      `  ${what.padEnd(44)} ${rates.length} bins: median ${round(percentile(rates, 0.5), 3)}, p99 ${round(percentile(rates, 0.99), 3)}, most ${round(worst, 3)} of the cap`,
    );
    return worst;
  };
  print(
    `\n${args.spokes} spokes in ${args.upgrades} upgrades, ${args.pulling} at a time; ${pullers.exits.filter((code) => code === PullerExit.done).length} pullers ended well`,
  );
  print(`  ${'pullers at once, at most'.padEnd(44)} ${pullers.most}`);
  const worst = [
    line(`under ${args.rate} bytes a second`, before, args.rate),
    line(`under ${args['second-rate']}, from 60 s after the change`, after, args['second-rate']),
  ];
  const isMet = pullers.most <= args.pulling && after.length > 0 && Math.max(...worst) <= 1.05;
  print(`\n${isMet ? 'met' : 'MISSED'}: never more pullers than places, never more than 5 % over the cap`);
  if (!isMet) process.exitCode = 1;
}

await runBench({ usage: USAGE, how: HOW, options: Arguments }, main);
