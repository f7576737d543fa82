/** One answer under construction: a chain of links, what its last one waits for, and what releases that. Pure. */
import { perObject, refKey } from '@flotilla/api';
import type { Release, WaitCause, WhyLink } from '@flotilla/api/answers';
import { statusWrittenAt, type UpgradeFacts } from './facts.ts';
import { judgeHub } from './hub-sign.ts';

/** Why something waits. */
export interface Finding {
  readonly cause: WaitCause;
  /** Wait of the cluster or upgrade asked about; waits with the same cause and sentence are counted together. */
  readonly own: { readonly cause: WaitCause; readonly says: string; readonly since?: string | undefined };
  readonly links: readonly WhyLink[];
  readonly release: Release;
  /** Job of other clusters that the upgrade waits for. */
  readonly job?: 'precaching' | 'backup';
}

/** Evidence as a link shows it. */
interface Evidence {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  readonly observedAt?: string | undefined;
  readonly isUnknown?: boolean;
}

/** Longest value that a link shows. */
const MOST_VALUE = 300;

/** A link of the chain. */
export const link = (says: string, { object, field, value, observedAt, isUnknown = false }: Evidence): WhyLink => ({
  says,
  object,
  field,
  value: value.length > MOST_VALUE ? `${value.slice(0, MOST_VALUE - 1)}…` : value,
  ...(observedAt !== undefined && { observedAt }),
  isUnknown,
});

/** A chain of one link. */
export const finding = (
  cause: WaitCause,
  first: WhyLink,
  release: Release,
  own: { readonly says: string; readonly since?: string | undefined } = { says: first.says },
): Finding => ({ cause, own: { cause, ...own }, links: [first], release });

/** The same chain with a link before it. @param own what the one that is asked about waits for */
export const behind = (first: WhyLink, rest: Finding, own: Finding['own']): Finding => ({
  ...rest,
  own,
  links: [first, ...rest.links],
});

/** It ends without anybody doing anything. */
export const byItself = (says: string, at?: number): Release => ({
  says,
  byItself: true,
  ...(at !== undefined && Number.isFinite(at) && { at: new Date(at).toISOString() }),
});

/** Somebody has to do something. */
export const bySomebody = (says: string): Release => ({ says, byItself: false });

/** Evidence in the upgrade itself. A hub that leads would have written anything else, so its Lease dates what it wrote. */
export function upgradeEvidence(facts: UpgradeFacts, field: string, value: unknown): Evidence {
  return { object: `ClusterGroupUpgrade ${refKey(facts.upgrade.metadata)}`, field, value: shown(value), observedAt: datedAt(facts) };
}

/** Thousands of links have the same date. */
const datedAt = perObject((facts: UpgradeFacts): string | undefined => {
  const sign = judgeHub(facts.hub, facts.now);
  return sign.state === 'leads' ? sign.renewedAt : statusWrittenAt(facts.upgrade);
});

/** Evidence in what the user wrote, which is as the server has it now. */
export const specEvidence = ({ upgrade, now }: UpgradeFacts, field: string, value: unknown): Evidence => ({
  object: `ClusterGroupUpgrade ${refKey(upgrade.metadata)}`,
  field,
  value: shown(value),
  observedAt: new Date(now).toISOString(),
});

/** Evidence in a ManagedCluster. */
export const clusterEvidence = (cluster: string, field: string, value: unknown, observedAt?: string): Evidence => ({
  object: `ManagedCluster ${cluster}`,
  field,
  value: shown(value),
  observedAt,
});

const shown = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '(none)'));
