/** The plan of an upgrade, as `flotilla plan` says it. Pure. */
import { refKey } from '@flotilla/api';
import type { Figure, PlanAnswer, PlannedPull } from '@flotilla/api/answers';
import type { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { firstCommonHour, hoursOf } from '../gates/cluster-hours.ts';
import { readWaves } from '../gates/upgrade-annotations.ts';
import { judgeWindow } from '../gates/window.ts';
import type { ObservedUpgrade, UpgradePlan } from '../plan.ts';
import { planDigest } from '../plan-digest.ts';
import { atMost, exact, forecast } from './facts.ts';
import { type ClusterPull, groupPulls } from './pulls.ts';
import { describeWindow } from './status-answer.ts';

/** Facts of an answer besides the plan. */
interface PlanFacts {
  readonly observed: Pick<ObservedUpgrade, 'upgrade' | 'template' | 'managed'>;
  readonly spec: ClusterGroupUpgradeSpec;
  readonly plan: UpgradePlan;
  /** The images, where somebody has looked them up. */
  readonly images?: PlanAnswer['images'];
  /** Cost of the pull on each cluster. */
  readonly pulls: readonly ClusterPull[];
  readonly secondsPerBatch?: number | undefined;
  readonly now: number;
  readonly notes: readonly string[];
}

/** Makes the answer. */
export function answerPlan(facts: PlanFacts): PlanAnswer {
  const { observed, spec, plan, images, now, notes } = facts;
  const { upgrade } = observed;
  const pulls = groupPulls(facts.pulls);
  const refused = refusalOf(plan);
  const outside = withoutHour(facts);
  return {
    upgrade: refKey(upgrade.metadata),
    ...(refused !== undefined && { refused }),
    batches: plan.batches,
    compliant: plan.compliant.length,
    changes: spec.manifestWorkTemplates?.length
      ? spec.manifestWorkTemplates
      : plan.policies.forUpgrade.map(({ namespace, name }) => `${namespace}/${name}`),
    window: describeWindow(upgrade, now),
    ...(outside.length > 0 && { hours: { count: outside.length, clusters: outside.slice(0, MOST_OUTSIDE) } }),
    ...(images && { images }),
    pulls,
    bytes: sum(pulls),
    ...precacheOf(facts.pulls, upgrade, now),
    rollout: rolloutOf(facts),
    ...(plan.stopped === undefined && { digest: planDigest(plan, spec, observed.template) }),
    notes: [...(readWaves(upgrade).waves ? [OF_WAVES] : []), ...notes],
  };
}

const OF_WAVES = 'batches are filled with clusters that are ready (flotilla.io/waves): these are the batches if all are ready at once';

/** Clusters without an hour that an answer names. */
const MOST_OUTSIDE = 10;

/** Clusters of the plan whose own hours and the upgrade's window are never open together. */
function withoutHour({ observed: { upgrade, managed }, plan, now }: PlanFacts): string[] {
  const byName = new Map(managed.map((cluster) => [cluster.metadata.name, cluster]));
  // Thousands of clusters share a few hours, and hours that never meet the window take long to compare.
  const known = new Map<string, boolean>();
  return plan.batches.flat().filter((name) => {
    const cluster = byName.get(name);
    if (!cluster) return false;
    const key = JSON.stringify(hoursOf(cluster));
    const isOutside = known.get(key) ?? firstCommonHour(upgrade, cluster, now) === undefined;
    known.set(key, isOutside);
    return isOutside;
  });
}

function refusalOf(plan: UpgradePlan): string | undefined {
  if (plan.stopped === 'releaseLookup')
    return 'the policies name a release by its version alone: its image is known when the hub has asked the update graph; apply the upgrade with enable: false and plan again';
  if (plan.stopped === 'policyReading') return 'the policies are still being read';
  return findRefusal(plan)?.message.trim();
}

/** The verdict for which the hub would hold the upgrade of a plan; undefined for one that waits for an answer, or goes on. */
export function findRefusal({ stopped, selection, validation, precaching }: UpgradePlan) {
  if (stopped === 'selection') return selection.failure;
  if (stopped === 'validation') return validation;
  return stopped === 'precacheSpec' ? precaching?.failure : undefined;
}

/** Sums bytes up; the sum is as sure as the least sure of them. */
function sum(pulls: readonly PlannedPull[]): Figure {
  const missing = pulls.find(({ bytes }) => bytes.value === undefined);
  if (missing) return missing.bytes;
  const total = pulls.reduce((bytes, pull) => bytes + (pull.bytes.value ?? 0) * pull.clusters, 0);
  const guessed = pulls.find(({ bytes }) => bytes.certainty === 'forecast');
  if (guessed) return forecast(total, guessed.bytes.why ?? 'some of it is a forecast');
  const bound = pulls.find(({ bytes }) => bytes.certainty === 'at-most');
  return bound ? atMost(total, bound.bytes.why ?? 'some of it is at most so') : exact(total);
}

/** Counts the clusters that are cached before the window opens. */
function precacheOf(pulls: readonly ClusterPull[], upgrade: ObservedUpgrade['upgrade'], now: number): Pick<PlanAnswer, 'precache'> {
  const window = judgeWindow(upgrade, now);
  if (window.kind !== 'closed' || window.opensAt === undefined || pulls.length === 0) return {};
  const left = Math.max(window.opensAt - now, 0) / 1000;
  const count = (is: (seconds: number | undefined) => boolean): number => pulls.filter(({ seconds }) => is(seconds.value)).length;
  const [inTime, late] = [count((value) => value !== undefined && value <= left), count((value) => value !== undefined && value > left)];
  return { precache: { seconds: left, inTime, late, unknown: count((value) => value === undefined) } };
}

function rolloutOf({ observed: { upgrade }, spec, plan, secondsPerBatch, now }: PlanFacts): PlanAnswer['rollout'] {
  const count = plan.batches.length;
  const seconds: Figure =
    secondsPerBatch === undefined
      ? atMost(spec.remediationStrategy.timeout * 60, 'remediationStrategy.timeout ends it; --batch-minutes gives a forecast')
      : forecast(count * secondsPerBatch, `${count} batches, each as long as was given`);
  const windowSeconds = windowLength(upgrade, now);
  if (windowSeconds === undefined || seconds.value === undefined) return { seconds };
  const fits = seconds.value <= windowSeconds;
  // A time-out that is longer than the window says nothing: it may be ready earlier.
  return { seconds, windowSeconds, ...((fits || seconds.certainty === 'forecast') && { fits }) };
}

/** Measures how long the next window is open, or this one still is; undefined where nothing closes it, or it never opens. */
function windowLength(upgrade: ObservedUpgrade['upgrade'], now: number): number | undefined {
  const window = judgeWindow(upgrade, now);
  const from = window.kind === 'closed' ? window.opensAt : now;
  if (window.kind === 'invalid' || from === undefined) return undefined;
  const then = judgeWindow(upgrade, from);
  return then.kind === 'open' && then.closesAt !== undefined ? Math.max(then.closesAt - from, 0) / 1000 : undefined;
}
