import { FeatureGateName } from '@flotilla/api/managed';
import type { Prometheus } from '@flotilla/http';
import type { HealthChecks, HealthQuestion, HealthVerdict } from '../ports.ts';
import {
  capacity,
  clusterOperators,
  cordonedNodes,
  criticalAlerts,
  type HealthCheck,
  type HealthReason,
  type Problem,
  pressureTaints,
} from './checks.ts';
import { type BudgetSources, disruptionBudgets } from './disruption-budgets.ts';

interface HealthOptions {
  readonly prometheus: Pick<Prometheus, 'query'>;
  readonly budgets: BudgetSources;
  /** `upgradeoperator_healthcheck_failed` of one reason. */
  readonly report: (labels: { readonly state: string; readonly version: string; readonly reason: HealthReason }, failed: boolean) => void;
  /** Version that runs; undefined when it cannot be told. */
  readonly versionOf: (question: HealthQuestion) => string | undefined;
}

/** Checks of a cluster before and after its upgrade (spec/muo 6). */
export function createHealthChecks({ prometheus, budgets, report, versionOf }: HealthOptions): HealthChecks {
  /** Those that stop an upgrade. */
  const essential: readonly HealthCheck<HealthQuestion>[] = [criticalAlerts(prometheus), clusterOperators];
  const advisory: readonly HealthCheck<HealthQuestion>[] = [capacity, cordonedNodes, pressureTaints, disruptionBudgets(budgets)];

  async function look(
    check: HealthCheck<HealthQuestion>,
    question: HealthQuestion,
    state: string,
    signal: AbortSignal,
  ): Promise<Problem | undefined> {
    const problem = await check.look(question, signal);
    const version = versionOf(question) ?? 'unknown';
    for (const reason of check.reasons) report({ state, version, reason }, reason === problem?.reason);
    return problem;
  }

  async function first(question: HealthQuestion, state: string, signal: AbortSignal): Promise<HealthVerdict> {
    for (const check of essential) {
      const problem = await look(check, question, state, signal);
      if (problem) return { blocks: true, message: problem.message };
    }
    return { blocks: false };
  }

  async function all(question: HealthQuestion, signal: AbortSignal): Promise<HealthVerdict> {
    const wanted = advisory.filter((check) => check !== capacity || question.upgradeConfig.spec.capacityReservation === true);
    const [blocking, others] = await Promise.all(
      [essential, wanted].map(async (checks) => {
        const problems = await Promise.all(checks.map((check) => look(check, question, question.phase, signal)));
        return problems.filter((problem) => problem !== undefined);
      }),
    );
    return verdictOf(blocking ?? [], others ?? []);
  }

  return {
    before: (question, signal) =>
      question.config.featureGate.enabled.includes(FeatureGateName.preHealthCheck)
        ? all(question, signal)
        : first(question, question.phase, signal),
    after: (question, signal) => first(question, 'Upgrading', signal),
  };
}

/** Characters of a message or its tokens at most: a cluster may have very many budgets. */
const MOST = 4_096;

/** Verdict of the extended check: alerts and operators stop an upgrade, the rest is told. Pure. */
export function verdictOf(blocking: readonly Problem[], advisory: readonly Problem[]): HealthVerdict {
  const problems = [...blocking, ...advisory];
  if (problems.length === 0) return { blocks: false };
  return {
    blocks: blocking.length > 0,
    message: problems
      .map(({ message }) => message)
      .join('; ')
      .slice(0, MOST),
    tokens: problems
      .map(({ token }) => token)
      .join(',')
      .slice(0, MOST),
  };
}
