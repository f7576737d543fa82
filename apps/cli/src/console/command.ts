import { setFlagsFromString } from 'node:v8';
import { checkOptions, systemClock } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';
import { ownDoor } from './door.ts';
import { ConsoleOptions } from './options.ts';
import { openPage } from './page.ts';
import { openServer } from './server.ts';
import { aborted, serveShared } from './shared.ts';
import { openViewer } from './viewer.ts';

/** Keeps this process at about twice of what lives in it: by itself V8 lets one that reads much and keeps little grow to six times as much. */
const STEADY_HEAP = '--heap-growing-percent=25';

/** The ends of a terminal, and of whoever runs the command without one. */
const ENDS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `flotilla console`. */
export const runConsole: Run = async (_args, given) => {
  const options = checkOptions(ConsoleOptions, given);
  const { namespace, hubNamespace, pullSecret, registryCa, insecureRegistry, registriesConf, ...shared } = options;
  setFlagsFromString(STEADY_HEAP);
  const stopping = new AbortController();
  for (const end of ENDS) process.once(end, () => stopping.abort());
  using _stopped = { [Symbol.dispose]: () => stopping.abort() };
  const { signal } = stopping;
  await using page = await openPage((line) => writeErr(`${line}\n`));
  const view = { namespace, hubNamespace };
  // Awaited here: at the end of this block everything ends.
  if (shared.login !== undefined) return await serveShared({ ...shared, login: shared.login }, { page: page.path, view, signal });
  await using connected = connect({ ...options, namespace: undefined });
  const { client } = connected;
  const viewer = await openViewer(client, view, signal);
  const tell = (code: string): void => writeOut(`  http://127.0.0.1:${server.port}/#code=${code}\n`);
  const door = ownDoor(viewer, { clock: systemClock, tell });
  await using server = await openServer({
    page: page.path,
    door,
    registry: { pullSecret, registryCa, insecureRegistry, registriesConf },
  });
  for (const lack of Object.values(viewer.greeting.rights ?? {})) if (lack !== null) writeErr(`? ${lack}\n`);
  writeOut(`Console of ${client.server}, for you alone, until Ctrl-C. An address is good once, and for a minute:\n`);
  door.offer();
  await aborted(signal);
};
