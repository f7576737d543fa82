/** The command line as a process, as an operator types it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { childEnvironment } from '@flotilla/control-plane/processes';
import { programFile } from '../../../tools/src/fleets/program-files.ts';

/** What a command said, and how it ended. */
interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Surroundings of a command. */
interface Around {
  /** Text on standard input; default: none. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes a program `flotilla` into a folder, for blocks that call it by its name. */
export async function writeProgram(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const words = [process.execPath, programFile('apps/cli/src/main.ts')].map((word) => `'${word}'`).join(' ');
  await writeFile(join(folder, 'flotilla'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
}

/** Runs `flotilla` against the server of a kubeconfig. */
export const flotilla = (kubeconfig: string, ...args: readonly string[]): Promise<Said> => flotillaWith(kubeconfig, {}, ...args);

/** Runs `flotilla` with standard input or variables of its own. */
export async function flotillaWith(kubeconfig: string, { input = '', env: more = {} }: Around, ...args: readonly string[]): Promise<Said> {
  // Its cache goes with the server.
  const env = childEnvironment({ KUBECONFIG: kubeconfig, XDG_CACHE_HOME: join(dirname(kubeconfig), 'cache'), ...more });
  const child = spawn(process.execPath, [programFile('apps/cli/src/main.ts'), ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  // A command that reads nothing may end first.
  child.stdin.on('error', () => undefined).end(input);
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
