import { registerStop } from '../../processes/exit-cleanup.ts';
import { freePorts } from '../../processes/free-port.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { createRunFolder, removeRunFolder } from '../../processes/run.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';
import { type DebianPackage, ensureDebianPackages } from '../../toolchain/debian-packages.ts';
import type { Log } from '../../toolchain/go-build.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** A cluster on whose node a server runs, for the pods there: also while the cluster's wide area link is cut. */
export type ServerPlace = Pick<Cluster, 'address' | 'startServer'>;

/** A program of a Debian package that listens on one port and answers `/-/ready`. */
interface ListeningProgram {
  /** Package, and name of its program. */
  readonly name: Extract<DebianPackage, 'prometheus' | 'prometheus-alertmanager'>;
  /** Its arguments, given a folder of its own and the address to listen on. */
  readonly args: (place: { readonly dir: string; readonly address: string }) => Promise<readonly string[]>;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Default: this machine's loopback. */
  readonly on?: ServerPlace | undefined;
  /** Progress of an installation; default: standard error. */
  readonly log?: Log | undefined;
}

/** It runs. */
export interface ListeningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

const stderrLog: Log = (line) => void process.stderr.write(`${line}\n`);

/**
 * Starts it, installing its package first where that is missing. It ends with this process, or with its cluster. Throws ServerStartError or
 * PackagesMissingError.
 */
export async function startListening({ name, args, port, on, log = stderrLog }: ListeningProgram): Promise<ListeningServer> {
  await ensureDebianPackages([name], log);
  const chosen = port ?? (await freePorts(1))[0] ?? 0;
  const dir = await createRunFolder(name);
  const address = `${on?.address ?? '127.0.0.1'}:${chosen}`;
  const given = await args({ dir, address });
  const server = on
    ? await on.startServer(name, name, given)
    : await startServerProcess({ name, program: name, args: given, logFile: `${dir}/${name}.log`, cwd: dir });
  const stop = registerStop(async () => {
    await server.stop({ graceMs: 2_000 });
    await removeRunFolder(dir);
  });
  const url = `http://${address}`;
  try {
    const check = async () => (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) })).ok;
    await waitUntilReady({ what: `${name} ${url}/-/ready`, processes: [server], timeoutMs: 60_000, check });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, port: chosen, dir, process: server, stop, [Symbol.asyncDispose]: stop };
}
