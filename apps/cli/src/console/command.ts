import { randomBytes } from 'node:crypto';
import { checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { HubOptions } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { openPage } from './page.ts';
import { askRights } from './rights.ts';
import { Feed } from './rows/feed.ts';
import { Fleet } from './rows/fleet.ts';
import { Sources } from './rows/sources.ts';
import { openServer } from './server.ts';

const Options = HubOptions.omit({ output: true });

/** The ends of a terminal, and of whoever runs the command without one. */
const ENDS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `flotilla console`. */
export const runConsole: Run = async (_args, given) => {
  const { namespace, hubNamespace, ...access } = checkOptions(Options, given);
  const stopping = new AbortController();
  for (const end of ENDS) process.once(end, () => stopping.abort());
  using _stopped = { [Symbol.dispose]: () => stopping.abort() };
  const { signal } = stopping;
  await using page = await openPage((line) => void process.stderr.write(`${line}\n`));
  await using connected = connect(access);
  const { client } = connected;
  const rights = await askRights(client, { namespace, hubNamespace });
  const sources = new Sources({ client, rights, hubNamespace, namespace });
  const fleet = new Fleet(sources);
  const feed = new Feed(fleet);
  sources.start(signal);
  feed.start(signal);
  const token = randomBytes(32).toString('base64url');
  const deps = { client, hubNamespace, fleet, sources };
  await using server = await openServer({ page: page.path, token, feed, deps, greeting: { server: client.server, rights } });
  for (const lack of Object.values(rights)) if (lack !== null) process.stderr.write(`? ${lack}\n`);
  process.stdout.write(`Console of ${client.server}, for you alone, until Ctrl-C:\n  http://127.0.0.1:${server.port}/#token=${token}\n`);
  await aborted(signal);
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
