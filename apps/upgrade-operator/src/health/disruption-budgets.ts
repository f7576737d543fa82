import { errorMessage } from '@flotilla/api';
import { createHttp, type HttpSurroundings, ServiceError, ServiceErrorCode } from '@flotilla/http';
import { type HealthCheck, HealthReason, type Problem } from './checks.ts';

/** As much of a PodDisruptionBudget as tells whether it lets any pod go. */
export interface BudgetState {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly maxUnavailable?: number | string | null; readonly minAvailable?: number | string | null } | null;
  readonly status?: { readonly expectedPods?: number | null } | null;
}

/** Sources of the budgets, and of the metrics about them. */
export interface BudgetSources {
  readonly list: (signal: AbortSignal) => Promise<readonly BudgetState[]>;
  /** Metrics of the deployment validation operator; undefined where there is none. */
  readonly validation: (signal: AbortSignal) => Promise<string | undefined>;
}

/** Namespaces of the platform whose budgets are their owners' business all the same. */
const NOT_PLATFORM: ReadonlySet<string> = new Set(
  [
    'logging',
    'redhat-marketplace',
    'operators',
    'customer-monitoring',
    'cnv',
    'route-monitoring-operator',
    'user-workload-monitoring',
    'pipelines',
  ].map((name) => `openshift-${name}`),
);

/** Every budget lets a pod go, also by what the deployment validation operator says, where there is one (spec/muo 6.6). */
export const disruptionBudgets = (sources: BudgetSources): HealthCheck<unknown> => ({
  reasons: [
    HealthReason.budgetWrong,
    HealthReason.budgetsUnknown,
    HealthReason.budgetViolated,
    HealthReason.validationUnreachable,
    HealthReason.validationUnknown,
  ],
  async look(_question, signal): Promise<Problem | undefined> {
    try {
      const wrong = (await sources.list(signal)).filter((budget) => isChecked(budget.metadata.namespace) && isWrong(budget));
      if (wrong.length > 0)
        return problem(
          HealthReason.budgetWrong,
          'let no pod go',
          wrong.map(({ metadata }) => metadata),
        );
    } catch (error) {
      signal.throwIfAborted();
      return unknown(HealthReason.budgetsUnknown, `PodDisruptionBudgets cannot be listed: ${errorMessage(error)}`);
    }
    return lookAtValidation(sources, signal);
  },
});

async function lookAtValidation({ validation }: BudgetSources, signal: AbortSignal): Promise<Problem | undefined> {
  try {
    const reported = reportedBudgets((await validation(signal)) ?? '');
    return reported.length > 0
      ? problem(HealthReason.budgetViolated, 'are refused by the deployment validation operator', reported)
      : undefined;
  } catch (error) {
    signal.throwIfAborted();
    const isUnreachable = error instanceof ServiceError && error.code === ServiceErrorCode.notConfigured;
    const reason = isUnreachable ? HealthReason.validationUnreachable : HealthReason.validationUnknown;
    return unknown(reason, `the deployment validation operator does not answer: ${errorMessage(error)}`);
  }
}

/** In a namespace that is not the platform's. */
const isChecked = (namespace = ''): boolean => !namespace.startsWith('openshift-') || NOT_PLATFORM.has(namespace);

/** No pod may ever go, whatever the state of the others. */
function isWrong({ spec, status }: BudgetState): boolean {
  const { maxUnavailable, minAvailable } = spec ?? {};
  if (maxUnavailable === 0 || maxUnavailable === '0%' || minAvailable === '100%') return true;
  const expected = status?.expectedPods ?? 0;
  return typeof minAvailable === 'number' && expected > 0 && minAvailable >= expected;
}

const SAMPLE = /^deployment_validation_operator_pdb_(?:min|max)_available\{(.*)\} (\S+)/;

/** Budgets that the exposition has a sample other than 0 of. */
export function reportedBudgets(exposition: string): { namespace: string; name: string }[] {
  const found = exposition.split('\n').flatMap((line) => {
    const [, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (value === undefined || Number(value) === 0) return [];
    const budget = { namespace: labelOf(labels, 'namespace'), name: labelOf(labels, 'name') };
    return isChecked(budget.namespace) ? [budget] : [];
  });
  return found;
}

const labelOf = (labels: string, name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';

function problem(reason: HealthReason, what: string, budgets: readonly { readonly name: string; readonly namespace?: string }[]): Problem {
  const names = budgets.map(({ namespace, name }) => `${namespace ?? ''}/${name}`).join(', ');
  const details = JSON.stringify(budgets.map(({ name, namespace = '' }) => ({ Name: name, Namespace: namespace })));
  return { reason, message: `PodDisruptionBudgets ${what}: ${names}`, token: `PDBHealthcheckFailed: ${details}` };
}

const unknown = (reason: HealthReason, message: string): Problem => ({ reason, message, token: 'PDBHealthcheckFailed: []' });

/** Options of the client; `url` gives undefined where there is no such operator. No credential is sent: it asks for none, and the way is not encrypted. */
interface DeploymentValidationOptions extends HttpSurroundings {
  readonly url: () => Promise<URL | undefined>;
}

const MAX_BYTES = 32 * 2 ** 20;

/** A client of the deployment validation operator (spec/muo 8.7). Opens nothing before the first call. */
export function createDeploymentValidation({ url, ...options }: DeploymentValidationOptions) {
  const http = createHttp({ ...options, name: 'Deployment validation operator', maxBytes: MAX_BYTES });
  return {
    /** The whole exposition; undefined where there is no such operator. */
    async metrics(signal?: AbortSignal): Promise<string | undefined> {
      const at = await url();
      return at && (await http.send({ method: 'GET', url: new URL('/metrics', at), signal })).text;
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
