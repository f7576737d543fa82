/**
 * The standing of a cluster to one policy, by the roll-up, the copies, and the objects that place the policy; and to those of a rollout, by which it
 * makes progress (spec/talm 2.6.8, 2.10). Pure.
 */

import { Annotation, isJsonObject, refKey } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import { isAvailable } from '../clusters/managed-cluster.ts';
import type { Meant, PolicyRef, RolloutMode, Standing } from '../upgrade/model.ts';
import type { Wait } from '../waits/wait.ts';
import { awayOf, type PolicyWays, reachOf, type Why } from './reach.ts';

/** One look at a cluster and a policy. */
export interface PolicyLook {
  readonly standing: Standing;
  readonly compliance: Compliance;
  readonly meant: Meant;
  /** Told while the cluster is held by what is not seen. */
  readonly wait?: Pick<Wait, 'cause' | 'says' | 'fix' | 'of'> | undefined;
  /** When more is known even if nothing changes, milliseconds since the epoch. */
  readonly knownAt?: number | undefined;
}

/** Where one policy is looked at. */
interface PolicyFacts {
  readonly ref: PolicyRef;
  readonly policy: Policy | undefined;
  readonly hasCopy: (cluster: string) => boolean;
  /** Absent: as the reference, a cluster that is in no roll-up is not matched. */
  readonly ways?: PolicyWays | undefined;
  /** Default: nothing was seen before. */
  readonly before?: (cluster: string) => Meant;
}

const standings: Record<Compliance, Standing> = { Compliant: 'done', NonCompliant: 'pending', NotMatchedWithPolicy: 'notMatched' };

/** The looks at one policy, by cluster; constant time each. A policy that is gone complies nowhere. */
export function lookAt(facts: PolicyFacts): (cluster: string) => PolicyLook {
  const { policy, hasCopy, ways } = facts;
  const complianceOf = policy ? indexCompliance(policy, hasCopy) : (): Compliance => 'NonCompliant';
  if (ways) return lookCarefully(facts, complianceOf, ways);
  return (cluster) => {
    const compliance = complianceOf(cluster);
    return { compliance, standing: standings[compliance], meant: undefined };
  };
}

function lookCarefully(facts: PolicyFacts, complianceOf: (cluster: string) => Compliance, ways: PolicyWays) {
  const { ref, policy, hasCopy, before } = facts;
  const name = `policy ${ref.namespace}/${ref.name}`;
  const reach = reachOf(ref, policy, ways);
  const isRolledUp = Array.isArray(policy?.status?.status);
  const isGoing = policy === undefined || policy.spec?.disabled === true || policy.metadata.deletionTimestamp !== undefined;
  const unseen = (compliance: Compliance, cause: Wait['cause'], { says, ...why }: Why, meant: Meant): PolicyLook => ({
    standing: 'unseen',
    compliance,
    meant,
    wait: { cause, says, ...why },
  });
  const lost = (cluster: string, compliance: Compliance): PolicyLook => {
    const { why } = reach(cluster);
    return unseen(compliance, 'policy', { ...why, says: `${name} no longer reaches ${cluster}: ${why.says}` }, 'meant');
  };
  const unlisted = (cluster: string): PolicyLook => {
    const compliance = 'NotMatchedWithPolicy';
    const { kind, why, knownAt } = reach(cluster);
    if (kind === 'placed') {
      const says = `${name} is placed on ${cluster}: ${why.says}`;
      return { standing: 'pending', compliance: 'NonCompliant', meant: 'meant', wait: { cause: 'policy', ...why, says } };
    }
    const known = before?.(cluster);
    if (known === 'meant') return lost(cluster, compliance);
    if (known === 'notMeant' || (kind === 'notMeant' && isRolledUp)) return { standing: 'notMatched', compliance, meant: 'notMeant' };
    const doubt = kind === 'notMeant' ? 'its roll-up is not there yet' : why.says;
    const says = `whether ${name} is meant for ${cluster} is not known: ${doubt}`;
    return { ...unseen(compliance, 'policy', { ...why, says }, undefined), ...(knownAt !== undefined && { knownAt }) };
  };
  return (cluster: string): PolicyLook => {
    const compliance = complianceOf(cluster);
    const isListed = (isRolledUp && compliance !== 'NotMatchedWithPolicy') || hasCopy(cluster);
    if (isGoing && (isListed || before?.(cluster) === 'meant')) return lost(cluster, compliance);
    if (!isListed) return unlisted(cluster);
    if (compliance !== 'Compliant') return { standing: 'pending', compliance: 'NonCompliant', meant: 'meant' };
    if (!hasCopy(cluster)) return lost(cluster, compliance);
    const managed = ways.cluster(cluster);
    if (isAvailable(managed)) return { standing: 'done', compliance, meant: 'meant' };
    const away = awayOf(cluster, managed);
    const says = `${name} was Compliant when ${cluster} reported last: ${away.says}`;
    return unseen(compliance, 'cluster-unavailable', { ...away, says }, 'meant');
  };
}

/** Compliance of one cluster with one policy, as the reference names it. Not matched: neither the roll-up nor a copy has the cluster. */
type Compliance = 'Compliant' | 'NonCompliant' | 'NotMatchedWithPolicy';

/**
 * Compliance per cluster from the parent's roll-up (spec/talm 2.6.8): only `Compliant` counts as such; without a roll-up
 * every cluster is non-compliant; with one, a cluster that is not in it is not matched. Where the reference stops there we ask for the
 * policy's copy: a cluster that has one is matched, and the roll-up has only not got to it yet.
 */
export function indexCompliance(policy: Policy, hasCopy: (cluster: string) => boolean): (cluster: string) => Compliance {
  const entries: unknown = policy.status?.status;
  if (!Array.isArray(entries)) return () => 'NonCompliant';
  const index = new Map<unknown, Compliance>();
  for (const entry of entries) {
    // The first entry of a cluster counts, as in a linear search.
    if (isJsonObject(entry) && !index.has(entry.clustername))
      index.set(entry.clustername, entry.compliant === 'Compliant' ? 'Compliant' : 'NonCompliant');
  }
  return (cluster) => index.get(cluster) ?? (hasCopy(cluster) ? 'NonCompliant' : 'NotMatchedWithPolicy');
}

/** Where the policies of a rollout are read. */
interface PolicySource {
  readonly parent: (ref: PolicyRef) => Policy | undefined;
  /** The policy's copy is in the cluster's namespace. */
  readonly hasCopy: (ref: PolicyRef, cluster: string) => boolean;
  /** Absent: as the reference, a cluster that is in no roll-up has nothing to do, whatever was seen before. */
  readonly ways?: PolicyWays | undefined;
  /** For whom a policy (index) was meant, as seen before. */
  readonly before?: ((cluster: string, index: number) => Meant) | undefined;
}

/** The policies of a running rollout, in order. A policy that is gone holds its clusters: nothing says that they comply. */
export function policyMode(policies: readonly PolicyRef[], { parent, hasCopy, ways, before }: PolicySource): RolloutMode {
  const found = policies.map((ref, index) => {
    const policy = parent(ref);
    const look = lookAt({
      ref,
      policy,
      hasCopy: (cluster) => hasCopy(ref, cluster),
      ways,
      before: (cluster) => before?.(cluster, index),
    });
    const { seconds, problem }: Soak = policy ? readSoak(policy) : { seconds: 0 };
    const held = ways && policy && problem !== undefined ? heldBy(problem, policy, look) : look;
    return { name: ref.name, look: held, soakSeconds: seconds };
  });
  const at = (cluster: string, index: number) => found[index]?.look(cluster);
  const detail = (cluster: string, index: number) => ({
    currentPolicy: { name: found[index]?.name ?? '', status: at(cluster, index)?.compliance ?? 'NonCompliant' },
  });
  return {
    kind: 'policy',
    count: found.length,
    name: (index) => found[index]?.name ?? '',
    standing: (cluster, index) => at(cluster, index)?.standing ?? 'pending',
    soakSeconds: (index) => found[index]?.soakSeconds ?? 0,
    detail,
    ...(ways && {
      doneAt: (cluster, index) => at(cluster, index)?.knownAt,
      meant: (cluster, index) => at(cluster, index)?.meant,
      wait: (cluster, index) => at(cluster, index)?.wait,
    }),
  };
}

/** A soak that became unreadable while the rollout ran is not over. */
function heldBy(says: string, { metadata }: Policy, look: (cluster: string) => PolicyLook): (cluster: string) => PolicyLook {
  const field = `metadata.annotations.${Annotation.soakSeconds}`;
  const of = { object: `Policy ${refKey(metadata)}`, field, value: metadata.annotations?.[Annotation.soakSeconds] ?? '' };
  const wait = { cause: 'policy', says, fix: 'set it to a whole number of seconds, or remove it', of } as const;
  return (cluster) => {
    const seen = look(cluster);
    return seen.standing === 'done' ? { ...seen, standing: 'unseen', wait } : seen;
  };
}

interface Soak {
  readonly seconds: number;
  readonly problem?: string;
}

/** Seconds a policy must stay compliant; `problem` when its annotation is no whole number, which counts as no soak. */
export function readSoak({ metadata }: Pick<Policy, 'metadata'>): Soak {
  const given = metadata.annotations?.[Annotation.soakSeconds];
  if (given === undefined) return { seconds: 0 };
  if (/^\d{1,9}$/.test(given)) return { seconds: Number(given) };
  const at = `annotation ${Annotation.soakSeconds} of policy ${metadata.namespace}/${metadata.name}`;
  return { seconds: 0, problem: `${at} is ${JSON.stringify(given)}, not a whole number of seconds` };
}
