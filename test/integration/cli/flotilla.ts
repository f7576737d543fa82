/** The command line as a process, as an operator types it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { programFile } from '../../../tools/src/fleets/program-files.ts';

/** What a command said, and how it ended. */
interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `flotilla` against the server of a kubeconfig. */
export async function flotilla(kubeconfig: string, ...args: readonly string[]): Promise<Said> {
  // Its cache goes with the server.
  const env = childEnvironment({ KUBECONFIG: kubeconfig, XDG_CACHE_HOME: join(dirname(kubeconfig), 'cache') });
  const child = spawn(process.execPath, [programFile('apps/cli/src/main.ts'), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = await once(child, 'close');
  return { code: typeof code === 'number' ? code : 1, out, err };
}
