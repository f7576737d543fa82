/** Reads the problems of an upgrade from its conditions, for an event (spec/talm 2.3, 5.4). Pure. */

import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgradeCondition, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import type { ValidationProblem } from './events.ts';

/** Facts that a pass knows beyond the status. */
export interface ValidationFacts {
  /** All explicit names without a ManagedCluster; condition ClustersSelected names the first alone. */
  readonly missingClusters?: readonly string[] | undefined;
}

type Status = ClusterGroupUpgradeStatus | undefined;

/** Conditions that refuse an upgrade, in the order of the gates. */
const REFUSING = [
  ClusterGroupUpgradeCondition.clustersSelected,
  ClusterGroupUpgradeCondition.validated,
  ClusterGroupUpgradeCondition.precacheSpecValid,
] as const;
type Refusing = (typeof REFUSING)[number];

/** The problems that `after` tells and `before` did not: one per message. */
export function newProblems(before: Status, after: ClusterGroupUpgradeStatus, facts: ValidationFacts): ValidationProblem[] {
  return REFUSING.flatMap((type) => {
    const message = refusalOf(after, type);
    return message === undefined || message === refusalOf(before, type) ? [] : [describe(type, message, facts)];
  });
}

function refusalOf(status: Status, type: Refusing): string | undefined {
  const condition = findCondition(status?.conditions, type);
  return condition?.status === 'False' ? condition.message : undefined;
}

function describe(type: Refusing, message: string, { missingClusters }: ValidationFacts): ValidationProblem {
  if (type === ClusterGroupUpgradeCondition.precacheSpecValid) return { label: 'pre-caching', items: [message] };
  if (type === ClusterGroupUpgradeCondition.clustersSelected) {
    const first = /: cluster (\S+) is not a ManagedCluster(?:;|$)/.exec(message)?.[1];
    if (first === undefined) return { label: 'cluster selection', items: [message] };
    return {
      label: 'missing clusters',
      items: missingClusters?.length ? missingClusters : [first],
      key: 'missing-clusters',
      counted: true,
    };
  }
  for (const { label, key, pattern } of lists) {
    const found = pattern.exec(message)?.[1];
    if (found !== undefined) return { label, items: found.split(' '), key };
  }
  const ambiguous = /^Managed policy name should be unique, but was found in multiple namespaces: (\{[^}]*\})(?: $|;)/.exec(message)?.[1];
  if (ambiguous !== undefined) return { label: 'ambiguous policies', items: keysOf(ambiguous), key: 'ambiguous-policies' };
  return { label: 'invalid upgrade', items: [message.trim()] };
}

/** The messages are part of the contract, word for word, up to our fix; names have no blanks. */
const lists = [
  { label: 'missing policies', key: 'missing-policies', pattern: /^Missing managed policies: \[([^\]]*)\](?: $|;)/ },
  { label: 'invalid policies', key: 'invalid-policies', pattern: /^Invalid managed policies: \[([^\]]*)\](?: $|;)/ },
  { label: 'missing templates', key: 'missing-templates', pattern: /^Missing manifest templates: \[([^\]]*)\](?:$|;)/ },
];

/** Keys of a JSON object of lists: `{"policy":["a","b"]}`. */
const keysOf = (json: string): string[] => [...json.matchAll(/"([^"]+)":\[/g)].flatMap(([, key]) => key ?? []);
