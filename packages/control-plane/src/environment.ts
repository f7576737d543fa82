import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const Environment = z.object({
  KUBEBUILDER_ASSETS: z.string().min(1).optional(),
  FLOTILLA_CACHE: z.string().min(1).optional(),
  XDG_CACHE_HOME: z.string().optional(),
  FLOTILLA_DEBUG: z.string().optional(),
  FLOTILLA_STARTED_AT: z.coerce.number().positive().optional(),
  FLOTILLA_FUZZ_SEED: z.coerce.number().int().default(1),
  FLOTILLA_FUZZ_SECONDS: z.coerce.number().min(0).optional(),
  FLOTILLA_FUZZ_CASE: z.coerce.number().int().optional(),
  FLOTILLA_CONFINEMENT_SEED: z.coerce.number().int().default(20_261_123),
  FLOTILLA_INVENTORIES: z.coerce.number().int().positive().default(6),
  FLOTILLA_INVENTORY_SEED: z.coerce.number().int().default(24),
  FLOTILLA_TEST_REPORT: z.string().min(1).optional(),
  DOCKER_AUTH_CONFIG: z.string().min(1).optional(),
  FLOTILLA_NODE_FAULTS: z.coerce.number().int().min(1).default(5),
  FLOTILLA_NODE_FAULTS_SEED: z.coerce.number().int().default(20_261_125),
  FLOTILLA_NODES_BYTES: z.coerce.number().int().min(1).default(40_000_000),
  HOSTILE_SEED: z.coerce.number().int().optional(),
  HOSTILE_WRITES: z.coerce.number().int().min(1).default(60),
  FLOTILLA_PAYLOADS: z.string().min(1).optional(),
  FLOTILLA_WITHDRAWN_EVERY: z.coerce.number().int().min(1).default(7),
  INIT_CWD: z.string().default('.'),
  PATH: z.string().default('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'),
});

/** Settings from the environment, parsed once per call: tests and demos, in which this package runs, have no config file of their own. */
interface ControlPlaneEnvironment {
  /** Folder with ready-made programs (`KUBEBUILDER_ASSETS`). */
  readonly assetsDir?: string;
  /** Folder that keeps built tools between runs: `FLOTILLA_CACHE`, else `$XDG_CACHE_HOME/flotilla`, else `~/.cache/flotilla`. */
  readonly cacheDir: string;
  /** `FLOTILLA_DEBUG`: keep the folders of ended servers and clusters. */
  readonly keepFolders: boolean;
  /** Time of the command, milliseconds since the epoch (`FLOTILLA_STARTED_AT`, set by the bootstrap): before packages were installed. */
  readonly startedAt: number;
  /** Folder with release payloads of real size (`FLOTILLA_PAYLOADS`); tests of them are skipped without it. */
  readonly payloadsDir?: string;
  /** Search path, with the system folders that a user's PATH may lack. */
  readonly path: string;
  /** Property runs: `FLOTILLA_FUZZ_SEED`, `FLOTILLA_FUZZ_SECONDS` for one target, `FLOTILLA_FUZZ_CASE` for one case of it. */
  readonly fuzz: { readonly seed: number; readonly seconds?: number | undefined; readonly only?: number | undefined };
  /** `FLOTILLA_CONFINEMENT_SEED`: of the seeded changes to a confined Job. */
  readonly confinementSeed: number;
  /** Inventories of the proof of planned bytes, over all runtimes: `FLOTILLA_INVENTORIES`, from `FLOTILLA_INVENTORY_SEED` on. */
  readonly inventories: { readonly count: number; readonly seed: number };
  /** A hostile account's writes: `HOSTILE_WRITES`, and `HOSTILE_SEED`, by default another one each time. */
  readonly hostile: { readonly writes: number; readonly seed?: number | undefined };
  /** Moments at which the pullers of a spoke's nodes are killed, stopped or cut: `FLOTILLA_NODE_FAULTS`, and `FLOTILLA_NODE_FAULTS_SEED`. */
  readonly nodeFaults: { readonly moments: number; readonly seed: number };
  /** Bytes of a release for a cluster of several nodes (`FLOTILLA_NODES_BYTES`). */
  readonly nodesBytes: number;
  /** One of so many stories of withdrawn upgrades is played: `FLOTILLA_WITHDRAWN_EVERY`. */
  readonly withdrawnEvery: number;
  /** Docker's config.json as text (`DOCKER_AUTH_CONFIG`), where no file has it. */
  readonly registryAuth?: string | undefined;
  /** Paths that a command was given are resolved against it: npm says where the command was typed (`INIT_CWD`). */
  readonly callersDir: string;
  /** File that a test run's report is written to (`FLOTILLA_TEST_REPORT`). */
  readonly testReport?: string | undefined;
}

/** Reads the environment. Throws a ZodError that names the variable. */
export function readEnvironment(): ControlPlaneEnvironment {
  // biome-ignore lint/style/noProcessEnv: the one place of tests, demo and tools
  const env = Environment.parse(process.env);
  return {
    ...(env.KUBEBUILDER_ASSETS && { assetsDir: env.KUBEBUILDER_ASSETS }),
    cacheDir: env.FLOTILLA_CACHE ?? join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'flotilla'),
    ...(env.FLOTILLA_PAYLOADS && { payloadsDir: env.FLOTILLA_PAYLOADS }),
    keepFolders: Boolean(env.FLOTILLA_DEBUG),
    startedAt: env.FLOTILLA_STARTED_AT ?? performance.timeOrigin,
    fuzz: { seed: env.FLOTILLA_FUZZ_SEED, seconds: env.FLOTILLA_FUZZ_SECONDS, only: env.FLOTILLA_FUZZ_CASE },
    confinementSeed: env.FLOTILLA_CONFINEMENT_SEED,
    inventories: { count: env.FLOTILLA_INVENTORIES, seed: env.FLOTILLA_INVENTORY_SEED },
    hostile: { writes: env.HOSTILE_WRITES, seed: env.HOSTILE_SEED },
    nodeFaults: { moments: env.FLOTILLA_NODE_FAULTS, seed: env.FLOTILLA_NODE_FAULTS_SEED },
    nodesBytes: env.FLOTILLA_NODES_BYTES,
    withdrawnEvery: env.FLOTILLA_WITHDRAWN_EVERY,
    registryAuth: env.DOCKER_AUTH_CONFIG,
    callersDir: env.INIT_CWD,
    testReport: env.FLOTILLA_TEST_REPORT,
    path: `${env.PATH}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin`,
  };
}

/** Environment for child processes: ours, with the completed search path. */
export const childEnvironment = (extra: Readonly<Record<string, string>> = {}): Record<string, string | undefined> => ({
  // biome-ignore lint/style/noProcessEnv: the one place of tests, demo and tools
  ...process.env,
  PATH: readEnvironment().path,
  ...extra,
});
