import { findCondition, type Ref } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { Client } from '@flotilla/runtime';
import { followUpgrade } from './follow-object.ts';

/** How a rollout is followed. */
interface FollowRolloutOptions {
  /** Called once with each thing that the status says, in the order in which it comes. */
  readonly onNews?: (news: string) => void;
  /** Milliseconds until it is given up. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/** How a rollout ended. */
export interface RolloutEnd {
  /** Everything was rolled out. */
  readonly succeeded: boolean;
  readonly message: string;
  /** Cluster → `complete`, `timedout` or `failed`. */
  readonly clusters: Readonly<Record<string, string>>;
}

/** Follows a ClusterGroupUpgrade to its end, well or badly. Throws `FLOTILLA_DEMO_TIMEOUT` with its conditions. */
export async function followRollout(client: Client, ref: Required<Ref>, options: FollowRolloutOptions): Promise<RolloutEnd> {
  const { onNews, withinMs, signal } = options;
  const told = new Set<string>();
  const { status } = await followUpgrade(client, ref, {
    onChange(upgrade) {
      for (const news of newsOf(upgrade)) {
        if (!told.has(news)) onNews?.(news);
        told.add(news);
      }
      return succeeded(upgrade.status) !== undefined;
    },
    explain: () => 'the rollout did not end',
    withinMs,
    signal,
  });
  const end = succeeded(status);
  return {
    succeeded: end?.status === 'True',
    message: end?.message ?? '',
    clusters: Object.fromEntries((status?.clusters ?? []).map(({ name, state }) => [name, state])),
  };
}

const succeeded = (status: ClusterGroupUpgradeStatus | undefined) =>
  findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded);

/** What a status says of the rollout, batch by batch. Pure. */
export function newsOf({ spec, status }: ClusterGroupUpgrade): string[] {
  const news: string[] = [];
  const progressing = findCondition(status?.conditions, ClusterGroupUpgradeCondition.progressing);
  if (progressing?.reason === 'WaitingForWindow') news.push(progressing.message);
  const batches = status?.remediationPlan ?? [];
  const ended = new Map((status?.clusters ?? []).map(({ name, state }) => [name, state]));
  const canaries = new Set(spec?.remediationStrategy.canaries);
  const current = status?.status.currentBatch ?? 0;
  for (const [index, batch] of batches.entries()) {
    const hasStarted = index < current || batch.some((name) => ended.has(name));
    if (!hasStarted) break;
    const kind = batch.every((name) => canaries.has(name)) ? ', canary' : '';
    news.push(`batch ${index + 1} of ${batches.length}${kind}: ${batch.join(', ')}`);
    for (const name of batch) if (ended.has(name)) news.push(`${name} ${ended.get(name)}`);
  }
  const end = succeeded(status);
  if (end) news.push(`${end.reason}: ${end.message}`);
  return news;
}
