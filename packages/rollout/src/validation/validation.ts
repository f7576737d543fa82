import { isJsonObject } from '@flotilla/api';
import type { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { type ConditionReason, explain } from '@flotilla/api/ran';
import type { ManagedPolicy, PolicyExamination } from '../policies/policies.ts';
import { readSoak } from '../policies/standing.ts';
import { findPlatformImage, type LookUpRelease } from '../software/policy-software.ts';
import { formatSlice, formatSortedJson } from '../values/formats.ts';
import { findTemplateProblem } from '../works/manifest-works.ts';

/** Input of validation: ManifestWork mode looks at templates alone, policy mode at policies alone. */
export type ValidationInput =
  | {
      readonly mode: 'manifestWork';
      readonly templates: readonly string[];
      readonly template: (name: string) => ManifestWorkReplicaSet | undefined;
    }
  | {
      readonly mode: 'policy';
      readonly examination: PolicyExamination;
      /** The image must be known now: the upgrade pre-caches, and no override names the image. */
      readonly preCaching: boolean;
      /** Say no more of an invalid policy than the reference does: its name. */
      readonly talmStrict: boolean;
      /** Asked instead of the upstream that policies name. */
      readonly updateGraphUrl?: string | undefined;
      readonly lookUpRelease: LookUpRelease;
      /** The only namespace whose policies count; absent: all do. */
      readonly namespace?: string | undefined;
    };

/** Condition Validated, and what goes with it. */
export interface Validation {
  readonly status: 'True' | 'False';
  readonly reason: ConditionReason;
  /** Word for word the reference's where it has the reason, trailing spaces included; the status adds the fix. */
  readonly message: string;
  /** When to look again even if nothing changes: what was asked for is outside the cluster. */
  readonly recheckAfterMs?: number;
}

const LOOK_UP_AGAIN_MS = 300_000;

type PolicyInput = Extract<ValidationInput, { mode: 'policy' }>;
type Finding = Omit<Validation, 'status'>;
type Check = (input: PolicyInput) => Finding | 'pending' | undefined;

const namesUnique: Check = ({ examination: { ambiguous } }) =>
  Object.keys(ambiguous).length === 0
    ? undefined
    : {
        reason: 'AmbiguousManagedPoliciesNames',
        message: `Managed policy name should be unique, but was found in multiple namespaces: ${formatSortedJson(ambiguous)} `,
      };

/** Characters of a condition that say why policies are invalid. */
const MAX_REASONS = 2_000;
const cut = (reasons: string): string => (reasons.length > MAX_REASONS ? `${reasons.slice(0, MAX_REASONS)}…` : reasons);

const policiesValid: Check = ({ examination: { invalid }, talmStrict }) => {
  if (invalid.length === 0) return undefined;
  const names = `Invalid managed policies: ${formatSlice(invalid.map(({ name }) => name))}`;
  const reasons = invalid.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  return {
    reason: 'NotAllManagedPoliciesExist',
    message: talmStrict ? `${names} ` : `${names}; ${cut(reasons)}`,
  };
};

const inNamespace = (namespace: string | undefined): string =>
  namespace === undefined
    ? ''
    : `in namespace ${namespace}; upgrades there use policies of their own namespace alone: name such in spec.managedPolicies, placed on the clusters`;

const policiesExist: Check = ({ examination: { missing }, namespace }) => {
  if (missing.length === 0) return undefined;
  const unplaced = missing.flatMap(({ why }) => why ?? []).join('; ');
  const absent = missing.filter(({ why }) => why === undefined).map(({ name }) => name);
  const named = `Missing managed policies: ${formatSlice(absent)} ${inNamespace(namespace)}`;
  const message = unplaced === '' ? named : `Managed policies on none of the clusters: ${cut(unplaced)}`;
  return { reason: 'NotAllManagedPoliciesExist', message: unplaced !== '' && absent.length > 0 ? `${named}; ${message}` : message };
};

/** A soak that cannot be read would be none. */
const soaksReadable: Check = ({ examination: { forUpgrade, compliantBefore }, talmStrict }) => {
  const problems = talmStrict ? [] : [...forUpgrade, ...compliantBefore].flatMap(({ policy }) => readSoak(policy).problem ?? []);
  return problems.length === 0 ? undefined : { reason: 'InvalidSoak', message: explain('InvalidSoak', cut(problems.join('; '))) };
};

const platformImageKnown: Check = ({ examination, preCaching, updateGraphUrl, lookUpRelease }) => {
  const source = findPlatformImage(examination.forUpgrade, { preCaching, updateGraphUrl });
  if (source.kind === 'invalid') return { reason: 'InvalidPlatformImage', message: source.message };
  if (source.kind !== 'graph') return undefined;
  const release = lookUpRelease(source);
  if (release.kind === 'known') return undefined;
  if (release.kind === 'pending') return 'pending';
  return { reason: 'InvalidPlatformImage', message: release.message, recheckAfterMs: LOOK_UP_AGAIN_MS };
};

const dependenciesInOrder: Check = ({ examination }) => {
  const found = findUnresolvableDependency(examination.forUpgrade);
  return (
    found && {
      // The spelling is the reference's.
      reason: 'UnresolvableDenpendency',
      message: `Managed Policy ${found.policy} depends on ${found.dependency}, which is to be remediated later`,
    }
  );
};

/** First finding wins; an invalid policy is reported before a missing one (spec/talm 2.3). */
const policyChecks: readonly Check[] = [namesUnique, policiesValid, policiesExist, soaksReadable, platformImageKnown, dependenciesInOrder];

function checkTemplates({ templates, template }: Extract<ValidationInput, { mode: 'manifestWork' }>): Finding | undefined {
  const missing = templates.filter((name) => !template(name));
  if (missing.length > 0) return { reason: 'NotAllManifestTemplatesExist', message: `Missing manifest templates: ${formatSlice(missing)}` };
  for (const name of templates) {
    const found = template(name);
    const problem = found && findTemplateProblem(found);
    if (problem !== undefined)
      return {
        reason: 'InvalidManifestTemplate',
        message: explain('InvalidManifestTemplate', `Invalid manifest template: ${problem}`),
      };
  }
  return undefined;
}

/** Condition Validated of an upgrade (spec/talm 2.3, 2.6); `pending` while a release is looked up. */
export function validateUpgrade(input: ValidationInput): Validation | 'pending' {
  if (input.mode === 'manifestWork') {
    const finding = checkTemplates(input);
    if (finding) return { status: 'False', ...finding };
  } else {
    for (const check of policyChecks) {
      const finding = check(input);
      if (finding === 'pending') return finding;
      if (finding) return { status: 'False', ...finding };
    }
  }
  return { status: 'True', reason: 'ValidationCompleted', message: 'Completed validation' };
}

/** A policy that would be enforced before something it depends on. */
interface UnresolvableDependency {
  readonly policy: string;
  readonly dependency: string;
}

/**
 * The first policy whose dependency comes later in the order of the upgrade (spec/talm 2.6.10). A dependency without a
 * namespace is looked for in the policy's own, as the policy framework does; kinds other than Policy are none of ours.
 */
export function findUnresolvableDependency(
  forUpgrade: readonly Pick<ManagedPolicy, 'name' | 'namespace' | 'policy'>[],
): UnresolvableDependency | undefined {
  const positions = new Map(forUpgrade.map(({ namespace, name }, index) => [`${namespace}/${name}`, index]));
  for (const [index, { name, namespace, policy }] of forUpgrade.entries()) {
    for (const dependency of policy.spec?.dependencies ?? []) {
      if (!isJsonObject(dependency) || typeof dependency.name !== 'string') continue;
      if (dependency.kind !== undefined && dependency.kind !== 'Policy') continue;
      const where = typeof dependency.namespace === 'string' && dependency.namespace !== '' ? dependency.namespace : namespace;
      const position = positions.get(`${where}/${dependency.name}`);
      if (position !== undefined && position > index) return { policy: name, dependency: dependency.name };
    }
  }
  return undefined;
}
