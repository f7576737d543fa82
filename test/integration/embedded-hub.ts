import { MemoryServer } from '@flotilla/control-plane/memory';
import type { ApiServer } from '@flotilla/control-plane/servers';
import { hubProgram } from '@flotilla/hub/program';
import { eventually } from '@flotilla/pace/testing';
import type { Clock } from '@flotilla/runtime';
import { embedProgram } from '@flotilla/runtime/testing';
import type { RunningProgram } from '../support/programs.ts';

/** A hub that a test has started, in this process or in one of its own. */
export type TestHub = Pick<RunningProgram, 'output' | 'stop' | 'hasExited'> & AsyncDisposable;

/** Runs the hub in this process, by a clock of the test's; resolves when it says that it is ready. Throws what it ends with before. */
export async function embedHub(server: ApiServer | MemoryServer, args: readonly string[], clock: Clock): Promise<TestHub> {
  const isInMemory = server instanceof MemoryServer;
  // Renewals of a fast clock that are no earlier than a busy machine can make them.
  const lease = isInMemory ? { clock, leaseDurationMs: 150_000, renewDeadlineMs: 100_000, retryPeriodMs: 20_000 } : {};
  const argv = [
    ...(isInMemory ? [] : ['--kubeconfig', server.kubeconfig]),
    '--http-port',
    '0',
    '--http-host',
    '127.0.0.1',
    '--auto-upgrades',
    'false',
    ...args,
  ];
  const program = isInMemory ? hubProgram(argv, {}, () => server.client({ manager: 'flotilla-hub' })) : hubProgram(argv, {});
  const lines: string[] = [];
  const stopping = new AbortController();
  let ended = false;
  const log = { write: (line: string) => void lines.push(line) };
  const running = embedProgram({ ...program, clock }, { signal: stopping.signal, log, lease }).finally(() => {
    ended = true;
  });
  const output = async () => lines.join('');
  const stop: TestHub['stop'] = async ({ signal } = {}) => {
    if (signal === 'SIGKILL') throw new TypeError('a hub in this process cannot be killed: ask for a process of its own');
    stopping.abort();
    await running;
  };
  await Promise.race([running, eventually(async () => (await output()).includes('Hub is ready'), 'the hub to be ready', 60_000)]);
  return { output, stop, hasExited: () => ended, [Symbol.asyncDispose]: () => stop() };
}
