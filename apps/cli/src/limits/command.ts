import type { LimitsAnswer, LimitUse } from '@flotilla/api/answers';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName } from '@flotilla/api/ran';
import { answerLimits, readLimits } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { LimitsOptions } from '../hub/options.ts';
import { whole } from '../hub/upgrades.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, standardScreen, writeJson } from '../terminal/output.ts';
import { table, wrap } from '../terminal/table.ts';

/** `flotilla limits`. */
export const showLimits: Run = async (_, given) => {
  const options = checkOptions(LimitsOptions, given);
  await using connected = connect(options);
  const answer = await askLimits(connected.client, options.hubNamespace);
  const screen = standardScreen(options.output === 'wide');
  if (options.output === 'json') writeJson(answer);
  else screen.write(`${limitsText(answer, screen)}\n`);
  if (answer.problem !== undefined) endWith(Exit.no);
};

/** Reads the ConfigMap, all upgrades and the labels of all clusters. */
export async function askLimits(client: Client, namespace: string): Promise<LimitsAnswer> {
  const name = FleetLimitsName.configMap;
  const found = await client.get(ConfigMap, { namespace, name });
  const { limits = {}, problem } = found ? readLimits(found.data ?? {}) : {};
  const about = { configMap: `${namespace}/${name}`, isThere: found !== undefined, ...(problem !== undefined && { problem }) };
  if (!found || problem !== undefined) return { ...about, limits: [], notes: [] };
  const [clusters, upgrades] = await Promise.all([
    client.list(ManagedCluster, { transform: ({ metadata: { name: cluster, labels } }) => ({ metadata: { name: cluster, labels } }) }),
    client.list(ClusterGroupUpgrade, { transform: withoutSpec }),
  ]);
  const labels = new Map(clusters.items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  return { ...about, ...answerLimits({ limits, upgrades: upgrades.items, clusters: labels }) };
}

const withoutSpec = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade => {
  const { metadata, status } = whole(upgrade);
  return { metadata, status };
};

const HEADS = ['CLUSTERS', 'MAY', 'PLACES', 'WAIT', 'HELD BY', 'WAITED FOR BY'];
const DOES = { pulling: 'pre-cache', upgrading: 'be upgraded' } as const;

/** One row for each limit that is used, and a line for those that are not. */
function limitsText({ configMap, isThere, problem, limits, notes }: LimitsAnswer, look: { readonly width?: number | undefined }): string {
  const say = (text: string): string => wrap(safeText(text), look.width, '  ');
  if (!isThere) return say(`There is no ConfigMap ${configMap}: nothing is limited but by options of the hub.`);
  if (problem !== undefined)
    return say(`${problem}. The hub goes on with the last limits that it could read; without any, nothing begins.`);
  if (limits.length === 0) return say(`ConfigMap ${configMap} limits nothing.`);
  return [table(HEADS, limits.map(rowOf), look), ...notes.map((note) => say(`? ${note}`))].join('\n');
}

function rowOf({ activity, label, value, most, taken, waiting, holders, waiters }: LimitUse): string[] {
  const who = label === undefined ? 'all' : value === '' ? `without ${label}` : `${label}=${value}`;
  const shares = (all: LimitUse['holders']) => all.map(({ upgrade, clusters }) => `${upgrade} ${clusters}`).join(', ') || '-';
  return [who, DOES[activity], `${taken}/${most}`, waiting === 0 ? '-' : String(waiting), shares(holders), shares(waiters)];
}
