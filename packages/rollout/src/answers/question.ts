/** Inputs of the questions in this folder. */
import type { UpgradeRef } from '../upgrade/identity.ts';
import type { UpgradeFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import type { Membership } from './membership.ts';

/** A question about an upgrade. */
export interface Question {
  readonly facts: UpgradeFacts;
  readonly members: Membership;
  /** Why a cluster of the same upgrade waits. */
  readonly askCluster: (name: string) => Finding;
  /** Why another upgrade has not ended; with a cluster, why it has not left that one. */
  readonly askUpgrade: (ref: UpgradeRef, cluster?: string) => Finding;
}

/** A question about one of its clusters. */
export interface ClusterQuestion extends Question {
  readonly cluster: string;
}
