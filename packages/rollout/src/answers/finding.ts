/** One answer under construction: a chain of links, what its last one waits for, and what releases that. Pure. */
import { type Condition, findCondition, perObject, refKey } from '@flotilla/api';
import type { Release, WaitCause, WhyLink } from '@flotilla/api/answers';
import { CLUSTER_AVAILABLE } from '@flotilla/api/ocm';
import { fixOf, type Reason, reasons } from '@flotilla/api/ran';
import type { UpgradeRef } from '../upgrade/identity.ts';
import { policyFellBackFrom } from '../upgrade/texts.ts';
import { masked, readWait, type Wait, WHOLE_UPGRADE } from '../waits/wait.ts';
import { CAUSES } from './causes.ts';
import { judgeHub, objectOf, statusWrittenAt, type UpgradeFacts } from './facts.ts';
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
export const before = (first: WhyLink, rest: Finding, own = rest.own): Finding => ({ ...rest, own, links: [first, ...rest.links] });

/** It ends without anybody doing anything. */
export const byItself = (says: string, at?: number): Release => ({
  says,
  byItself: true,
  ...(at !== undefined && Number.isFinite(at) && { at: iso(at) }),
});

/** Somebody has to do something. */
export const bySomebody = (says: string): Release => ({ says, byItself: false });

const iso = (at: number): string => new Date(at).toISOString();
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

/** The finding of a wait. @param shown evidence where the wait has none @param cluster the one that waits; absent: the upgrade */
export function findingOf({ facts, askUpgrade }: Question, wait: Wait, shown: Evidence, cluster?: string): Finding {
  const { cause, says, fix, since, until, of, behind } = wait;
  const { awaits, ends = 'It goes on by itself, or when its time is over.', isUnknown = false } = CAUSES[cause] ?? {};
  const observedAt = isUnknown ? (since === undefined ? lastHeard(facts, cluster) : iso(since)) : shown.observedAt;
  const first = link(cluster === undefined || says.startsWith(`${cluster} `) ? says : `${cluster}: ${says}`, {
    ...(of ?? shown),
    observedAt,
    isUnknown: isUnknown || shown.isUnknown === true,
  });
  const again = policyFellBackFrom(says);
  const own = {
    cause,
    // As of a cluster that is enforced again, so that both count as one.
    says:
      awaits ?? (again === undefined ? (cluster === undefined ? says : masked(says, cluster)) : `policy ${again} to be compliant again`),
    ...(since !== undefined && { since: iso(since) }),
  };
  if (behind) return before(first, askUpgrade({ namespace: behind.namespace ?? '', name: behind.name }, cluster), own);
  if (fix === undefined) return finding(cause, first, byItself(ends, until), own);
  return finding(cause, first, bySomebody(`${sentence(fix)}${until === undefined ? '' : ` It times out at ${iso(until)}.`}`), own);
}

/** When a cluster was last known to be available. */
function lastHeard(facts: UpgradeFacts, cluster = ''): string | undefined {
  const conditions = objectOf(facts.cluster(cluster))?.status?.conditions;
  const condition = findCondition(conditions, CLUSTER_AVAILABLE);
  return condition?.status === 'True' ? undefined : condition?.lastTransitionTime;
}

/** The stored wait of a cluster in the rollout, or of the upgrade as a whole. @param cluster absent for the whole */
export function storedWait(question: Question, cluster?: string): Finding | undefined {
  const key = cluster ?? WHOLE_UPGRADE;
  const message = question.facts.upgrade.status?.messages?.[key];
  if (message === undefined) return undefined;
  const evidence = upgradeEvidence(question.facts, `status.messages[${key}]`, message);
  return findingOf(question, readWait(message) ?? plainWait('refused', message), evidence, cluster);
}

/** The wait of a sentence that is none. */
export const plainWait = (cause: WaitCause, says: string): Wait => ({
  cause,
  says,
  fix: 'correct the cause that the message names; it is tried again by itself',
});

/** Evidence in the upgrade itself. A hub that leads would have written anything else, so its Lease dates what it wrote. */
export function upgradeEvidence(facts: UpgradeFacts, field: string, value: unknown): Evidence {
  return { object: `ClusterGroupUpgrade ${refKey(facts.upgrade.metadata)}`, field, value: textOf(value), observedAt: datedAt(facts) };
}

/** Thousands of links have the same date. */
const datedAt = perObject((facts: UpgradeFacts): string | undefined => {
  const sign = judgeHub(facts.hub, facts.now);
  return sign.state === 'leads' ? sign.renewedAt : statusWrittenAt(facts.upgrade);
});

/** A condition of the upgrade as evidence. */
export const conditionEvidence = (facts: UpgradeFacts, condition: Condition | undefined, type: string): Evidence =>
  upgradeEvidence(facts, `status.conditions[${type}]`, `${condition?.status ?? ''} ${condition?.reason ?? ''}`.trim());

/** The fix of the reason of a condition. */
export function fixFor({ reason }: Condition): string {
  const fix = Object.hasOwn(reasons, reason) ? fixOf(reason as Reason) : '';
  return fix === '' || fix.includes('{') ? 'Do as the message says.' : sentence(fix);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? '(none)'));
