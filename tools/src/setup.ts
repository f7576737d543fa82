import { parseArgs } from 'node:util';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { cleanupOnExit, findProgram, sweepLeftovers } from '@flotilla/control-plane/processes';
import { clusterObstacle, OCM_TOOLS } from '@flotilla/control-plane/servers';
import {
  BROWSER_PACKAGE,
  BUILD_PACKAGES,
  type DebianPackage,
  describeTools,
  ensureDebianPackages,
  ensureTools,
  type Log,
  MONITORING_PACKAGES,
  NODE_PACKAGES,
  type RuntimeName,
  type ToolName,
} from '@flotilla/control-plane/toolchain';
import { prepareBase } from './images/build-images.ts';
import { hostArchitecture } from './images/cache-folder.ts';

/** The programs that a command runs on this machine, and what they need. */
interface Parts {
  readonly programs: readonly ToolName[];
  /** Programs that it uses once its clusters run; who needs monitoring installs it then. */
  readonly later: readonly ToolName[];
  /** Runtimes of the nodes of whole clusters; none: no whole clusters. */
  readonly runtimes: readonly RuntimeName[];
  /** The controllers of Open Cluster Management: a third of a build from nothing. */
  readonly ocm: boolean;
  /** The newest containerd, beside the one of the nodes. */
  readonly newest: boolean;
  /** Debian packages beyond those of the nodes. */
  readonly packages: readonly DebianPackage[];
  /** A browser, for the console's page. */
  readonly browser: boolean;
}

const API_SERVERS: readonly ToolName[] = ['etcd', 'kube-apiserver'];
const EVERYWHERE: readonly ToolName[] = [...API_SERVERS, 'kube-controller-manager', 'kubectl', 'registry'];
/** Programs of single tests: beside other tests a build takes longer than a test may. */
const OF_SINGLE_TESTS: readonly ToolName[] = ['helm', 'cosign', 'oauth2-proxy', 'kstatus', 'actionlint'];
const NO_MORE = { later: [], runtimes: [], ocm: false, newest: false, packages: [], browser: false } as const;

/** Commands that need set-up → what they run. */
const PARTS = {
  test: { ...NO_MORE, programs: API_SERVERS },
  'test:system': {
    programs: [...EVERYWHERE, ...OF_SINGLE_TESTS],
    later: [],
    runtimes: ['containerd', 'crio'],
    ocm: true,
    newest: true,
    packages: [...BUILD_PACKAGES, ...MONITORING_PACKAGES, 'redis-server'],
    browser: true,
  },
  demo: { ...NO_MORE, programs: EVERYWHERE, later: ['helm'], runtimes: ['containerd'] },
  'demo --ocm': { ...NO_MORE, programs: EVERYWHERE, runtimes: ['containerd'], ocm: true },
} as const satisfies Record<string, Parts>;

/** A command that needs set-up. */
type SetUpFor = keyof typeof PARTS;

const EVERY_CLUSTER: readonly ToolName[] = ['kube-scheduler', 'kubelet', 'kube-proxy'];
const RUNTIMES: Readonly<Record<RuntimeName, readonly ToolName[]>> = {
  containerd: [],
  'containerd-2': ['containerd', 'containerd-shim-runc-v2'],
  crio: ['crio', 'pinns', 'import-image'],
};

/** Tools and images that a command uses on this machine. */
interface Requirements {
  readonly tools: ToolName[];
  /** Tools that it uses once its clusters run. */
  readonly later: ToolName[];
  readonly packages: DebianPackage[];
}

/** Programs and Debian packages that a command uses on this machine; without whole clusters where they cannot run. */
export function requirementsOf(command: SetUpFor, clusters: boolean): Requirements {
  const { programs, later, runtimes, ocm, newest, packages }: Parts = PARTS[command];
  if (!clusters || runtimes.length === 0) return { tools: [...programs], later: [...later], packages: [] };
  const ofRuntimes = runtimes.flatMap((name) => RUNTIMES[name]);
  const ofNodes = runtimes.flatMap((name): readonly DebianPackage[] => NODE_PACKAGES[name]);
  return {
    later: [...later],
    tools: [...programs, ...EVERY_CLUSTER, ...ofRuntimes, ...(newest ? (['containerd'] as const) : []), ...(ocm ? OCM_TOOLS : [])],
    packages: [...new Set([...ofNodes, ...packages])],
  };
}

/**
 * Does the set-up of this machine that a command needs and no more: Debian packages (as root), programs built or found in the cache, the
 * base of our images where whole clusters run, leftovers of killed runs removed. Says what it does. Throws PackagesMissingError,
 * ToolsUnavailableError or `FLOTILLA_IMAGES_*`.
 * @param options `inBackground` leaves the processors to others while they have work
 * @returns the rest of it, which goes on when clusters can be started
 */
export async function setUp(
  command: SetUpFor,
  log: Log,
  { inBackground = false }: { readonly inBackground?: boolean } = {},
): Promise<{ readonly rest: Promise<void> }> {
  const swept = await sweepLeftovers();
  if (swept.length > 0) log(`Removed what ${swept.length} killed ${swept.length === 1 ? 'run' : 'runs'} left behind`);
  const { runtimes, browser, packages: own }: Parts = PARTS[command];
  const obstacle = clusterObstacle();
  const { tools, later, packages } = requirementsOf(command, !obstacle);
  const installed = ensureDebianPackages(packages, log);
  // The C programs of CRI-O are compiled by what the packages bring; everything else is built while they are installed.
  if (runtimes.some((name) => name === 'crio')) await installed;
  if (obstacle && runtimes.length > 0) log(`No whole clusters here: ${obstacle}`);
  if (own.includes('redis-server') && !(await findProgram('redis-server')))
    log('No redis-server on PATH: tests that need it are skipped; install the package redis-server');
  if (browser) await ensureBrowser(log);
  const hasNodes = !obstacle && runtimes.length > 0;
  const [ready] = await Promise.all([
    ensureTools(tools, { log, inBackground }),
    installed,
    ...(hasNodes ? [prepareBase(hostArchitecture(), log)] : []),
  ]);
  log(`Programs: ${describeTools(ready)}`);
  const rest = later.length > 0 ? ensureTools(later, { log, inBackground: true }) : undefined;
  const told = rest?.then((tools) => log(`Programs: ${describeTools(tools)}`));
  // Who needs one of these programs meets the error.
  told?.catch(() => undefined);
  return { rest: told ?? Promise.resolve() };
}

/** Tests of pages are the only ones that a machine without a browser skips. */
async function ensureBrowser(log: Log): Promise<void> {
  try {
    await ensureDebianPackages([BROWSER_PACKAGE], log);
  } catch (error) {
    log(`No browser here, tests of pages are skipped: ${errorMessage(error)}`);
  }
}

const HELP = `usage: npm run setup -- [options]
Installs and builds what a command needs on this machine, into ~/.cache/flotilla (FLOTILLA_CACHE moves it). Each command does this itself.

  --for COMMAND   ${Object.keys(PARTS)
    .map((name) => `"${name}"`)
    .join(', ')}; default "test:system", which is everything
  --help          this text
`;

/** Reads the command line; undefined asks for help. Throws `FLOTILLA_SETUP_USAGE` that names the option and what it takes. */
export function parseSetUp(args: readonly string[]): SetUpFor | undefined {
  let values: { for: string; help: boolean };
  try {
    const options = { for: { type: 'string', default: 'test:system' }, help: { type: 'boolean', default: false } } as const;
    ({ values } = parseArgs({ args: [...args], options }));
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_SETUP_USAGE', `${errorMessage(cause)}; see --help`, { cause });
  }
  if (values.help) return undefined;
  const known = Object.keys(PARTS).find((name): name is SetUpFor => name === values.for);
  if (known) return known;
  throw new FlotillaError('FLOTILLA_SETUP_USAGE', `--for ${values.for}: must be one of ${Object.keys(PARTS).join(', ')}`);
}

if (import.meta.main) {
  cleanupOnExit();
  const log: Log = (line) => void process.stdout.write(`${line}\n`);
  try {
    const command = parseSetUp(process.argv.slice(2));
    if (command === undefined) process.stdout.write(HELP);
    else {
      await (await setUp(command, log)).rest;
      log('Set-up is complete');
    }
  } catch (error) {
    process.stderr.write(`Set-up failed: ${errorMessage(error)}\n`);
    process.exitCode = error instanceof FlotillaError && error.code === 'FLOTILLA_SETUP_USAGE' ? 2 : 1;
  }
}
