import { findCondition, Label } from '@flotilla/api';
import type { Placement } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { selectorValues } from '../../fixtures/placed-policies.ts';

/** The status of an upgrade as a watch saw it. */
interface Sight {
  readonly atMs: number;
  readonly status: ClusterGroupUpgradeStatus;
}

/** Clusters in the Placement that an upgrade made for a policy, as a watch saw them. */
export interface Membership {
  readonly atMs: number;
  /** Of the upgrade. */
  readonly namespace: string;
  readonly upgrade: string;
  readonly policy: string;
  readonly clusters: readonly string[];
}

/** What a watch saw of one upgrade, in order. */
export class History {
  readonly sights: Sight[] = [];

  add(upgrade: ClusterGroupUpgrade): void {
    if (upgrade.status) this.sights.push({ atMs: Date.now(), status: upgrade.status });
  }

  /** Texts of a condition, each once in a row. */
  texts(type: string): string[] {
    const texts = this.sights.flatMap(({ status }) => {
      const condition = findCondition(status.conditions, type);
      return condition ? [`${condition.status} ${condition.reason}: ${condition.message}`] : [];
    });
    return texts.filter((text, at) => text !== texts[at - 1]);
  }

  /** Every start of a batch: its number, and its start in the status. */
  batchStarts(): { readonly batch: number; readonly startedAt: string }[] {
    const starts = new Map<string, { batch: number; startedAt: string }>();
    for (const { status } of this.sights) {
      const { currentBatch: batch, currentBatchStartedAt: startedAt } = status.status;
      if (batch !== undefined && startedAt !== undefined) starts.set(`${batch} ${startedAt}`, { batch, startedAt });
    }
    return [...starts.values()];
  }

  /** Clusters under way in each sight. */
  inProgress(): { readonly batch: number; readonly clusters: string[] }[] {
    return this.sights.map(({ status: { status } }) => ({
      batch: status.currentBatch ?? 0,
      clusters: Object.entries(status.currentBatchRemediationProgress ?? {}).flatMap(([name, { state }]) =>
        state === 'InProgress' ? [name] : [],
      ),
    }));
  }

  /** States and policy indexes of a cluster, each once in a row: `InProgress 0`. */
  progressOf(cluster: string): string[] {
    const seen = this.sights.flatMap(({ status }) => {
      const progress = status.status.currentBatchRemediationProgress?.[cluster];
      return progress
        ? [[progress.state, progress.policyIndex ?? progress.manifestWorkIndex].filter((part) => part !== undefined).join(' ')]
        : [];
    });
    return seen.filter((each, at) => each !== seen[at - 1]);
  }

  /** The first plan that was seen once the remediation had started. */
  plan(): string[][] {
    return this.sights.find(({ status }) => status.status.startedAt !== undefined)?.status.remediationPlan ?? [];
  }
}

/** The membership a Placement of an upgrade shows; undefined for other Placements. */
export function membershipOf({ metadata, spec }: Placement): Membership | undefined {
  const { [Label.upgradeName]: upgrade, [Label.upgradeNamespace]: namespace, [Label.forPolicy]: policy } = metadata.labels ?? {};
  if (!upgrade || !namespace || !policy) return undefined;
  return { atMs: Date.now(), namespace, upgrade, policy, clusters: selectorValues(spec) };
}
