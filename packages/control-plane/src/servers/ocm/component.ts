import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';

/** A program of the hub's or a spoke's that runs as a process of this machine. */
export interface OcmComponent extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** File with its output; gone with the folder it was started in. */
  readonly logFile: string;
  /** True when its health endpoint answers with 200 now. */
  isHealthy(): Promise<boolean>;
  stop(): Promise<void>;
}

interface ComponentOptions {
  /** Name for messages and of the log file. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folder for its log. */
  readonly dir: string;
  /** Answers 200 while all is well. */
  readonly healthUrl: string;
}

/** Starts a component and resolves when it is healthy. Throws ServerStartError with the end of its log. */
export async function startComponent({ name, dir, healthUrl, ...options }: ComponentOptions): Promise<OcmComponent> {
  // They write the certificates they make into the folder for temporary files, and leave them there.
  const env = { ...options.env, TMPDIR: dir };
  const server: ServerProcess = await startServerProcess({ ...options, env, name, logFile: join(dir, `${name}.log`), cwd: dir });
  const stop = registerStop(() => server.stop());
  const isHealthy = () => answers(healthUrl);
  try {
    await waitUntilReady({ what: `${name} at ${healthUrl}`, processes: [server], check: isHealthy });
  } catch (error) {
    await stop();
    throw error;
  }
  const { pid, logFile } = server;
  return { name, pid, logFile, isHealthy, stop, [Symbol.asyncDispose]: stop };
}

/** True when a GET answers 200 within 2 s. Our own process on loopback signs its own certificate: there is nobody to verify. */
function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { timeout: 2_000, agent: false } as const;
    const probe = url.startsWith('https:') ? requestHttps(url, { ...options, rejectUnauthorized: false }) : requestHttp(url, options);
    probe.once('response', (response) => {
      response.destroy();
      resolve(response.statusCode === 200);
    });
    probe.once('timeout', () => probe.destroy());
    probe.once('error', () => resolve(false));
    probe.end();
  });
}
