/** The command line as a process, as an operator types it. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endCommand } from '@flotilla/control-plane/processes';
import { programFile } from '../../support/program-files.ts';

/** Longer than a test waits for a command that waits. */
const LONGEST_MS = 15 * 60_000;

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
  const env = { KUBECONFIG: kubeconfig, XDG_CACHE_HOME: join(dirname(kubeconfig), 'cache'), ...more };
  const { code, stdout, stderr } = await endCommand(process.execPath, [programFile('apps/cli/src/main.ts'), ...args], {
    env,
    input,
    timeoutMs: LONGEST_MS,
  });
  return { code: code ?? 1, out: stdout, err: stderr };
}
