import { FlotillaError } from '@flotilla/api';
import { endedWithoutEdits, hasEnded, type StatusAnswer } from '@flotilla/api/answers';
import { Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ApiError, type Client, checkOptions, isForbidden } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { askStatus, FactStore, judgeStatus } from '../hub/fact-store.ts';
import { StatusOptions } from '../hub/options.ts';
import { followUpgrade, readUpgrade, type UpgradeRef, whole } from '../hub/upgrades.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { HOME, safeJson, safeText, standardScreen, writeErr, writeJson } from '../terminal/output.ts';
import { statusLine, statusPage, statusTable } from './print.ts';

const hasFailed = (answer: StatusAnswer): boolean => (hasEnded(answer) && answer.stage !== 'done') || endedWithoutEdits(answer);

/** `flotilla status [CGU]`. */
export const showStatus: Run = async ([name], given) => {
  const options = checkOptions(StatusOptions, given);
  if (options.watch && name === undefined) throw new FlotillaError('FLOTILLA_CONFIG', '--watch needs the name of a ClusterGroupUpgrade');
  if (name !== undefined && (options.allNamespaces || options.selector !== undefined))
    throw new FlotillaError('FLOTILLA_CONFIG', 'a name goes with neither -A nor -l: leave out one of them');
  await using connected = connect(options);
  const { client, namespace, refOf } = connected;
  // Awaited here: the client is closed when this returns.
  if (name === undefined) return await listAll(client, namespace, options);
  if (options.watch) return await follow(client, refOf(name), options);
  const answer = await askStatus(new FactStore({ client, ...options }), await readUpgrade(client, refOf(name)));
  const screen = screenFor(options);
  if (options.output === 'json') writeJson(answer);
  else screen.write(`${statusPage(answer, screen, Date.now())}\n`);
  if (hasFailed(answer)) endWith(Exit.no);
};

const screenFor = ({ output }: StatusOptions) => standardScreen(output === 'wide');

async function listAll(client: Client, namespace: string, options: StatusOptions): Promise<void> {
  const screen = screenFor(options);
  const within = options.allNamespaces ? {} : { namespace };
  const { items } = await client.list(ClusterGroupUpgrade, { ...within, labelSelector: options.selector }).catch((error: unknown) => {
    throw unreadableSelector(error, options) ?? error;
  });
  if (items.length === 0 && !options.allNamespaces) await needNamespace(client, namespace);
  const store = new FactStore({ client, ...options });
  if (items.length > 0) await store.readClusters(items);
  const answers: StatusAnswer[] = [];
  for (const item of items) answers.push(await judgeStatus(store, whole(item)));
  if (options.output === 'json') writeJson({ items: answers });
  else if (answers.length > 0) screen.write(`${statusTable(answers, screen)}\n`);
  else writeErr(`no ClusterGroupUpgrade ${nothingFound(namespace, options)}\n`);
  for (const note of store.notes) writeErr(`? ${safeText(note)}\n`);
}

/** An API server is the one that reads selectors. */
const unreadableSelector = (error: unknown, { selector }: StatusOptions): FlotillaError | undefined =>
  selector !== undefined && error instanceof ApiError && error.status === 400
    ? new FlotillaError(
        'FLOTILLA_CONFIG',
        `--selector ${JSON.stringify(selector)} cannot be read: ${error.serverMessage}: give labels such as site=north`,
      )
    : undefined;

/** @throws FlotillaError `FLOTILLA_NO_UPGRADE` for a namespace that is known not to be there */
async function needNamespace(client: Client, name: string): Promise<void> {
  const found = await client.get(Namespace, { name }).catch((error: unknown) => {
    if (isForbidden(error)) return 'unseen';
    throw error;
  });
  if (found === undefined)
    throw new FlotillaError('FLOTILLA_NO_UPGRADE', `there is no namespace ${name}: name another with -n, or add -A for all`);
}

function nothingFound(namespace: string, { selector, allNamespaces }: StatusOptions): string {
  const where = allNamespaces ? 'in any namespace' : `in namespace ${namespace}`;
  if (selector !== undefined) return `${where} has the labels ${selector}`;
  return allNamespaces ? where : `${where}: name another with -n, or add -A for all`;
}

async function follow(client: Client, ref: UpgradeRef, options: StatusOptions): Promise<void> {
  const screen = screenFor(options);
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  let last = '';
  const store = new FactStore({ client, ...options });
  for await (const upgrade of followUpgrade(client, ref, stopping.signal)) {
    store.forget();
    const answer = await askStatus(store, upgrade);
    const line = options.output === 'json' ? safeJson(answer) : statusLine(answer);
    if (screen.isTerminal && options.output !== 'json') screen.write(`${HOME}${statusPage(answer, screen, Date.now())}\n`);
    else if (line !== last && options.output === 'json') writeJson(answer);
    else if (line !== last) screen.write(`${line}\n`);
    last = line;
    if (!hasEnded(answer) || answer.edits?.state === 'unprocessed') continue;
    if (hasFailed(answer)) endWith(Exit.no);
    return;
  }
}
