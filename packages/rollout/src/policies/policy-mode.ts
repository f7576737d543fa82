/** Progress by policies: a cluster is through with one when the policy's roll-up says so (spec/talm 2.6.8, 2.10). Pure. */

import { Annotation, refKey } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import type { Meant, PolicyRef, RolloutMode } from '../upgrade/model.ts';
import type { PolicyWays } from './reach.ts';
import { lookAt, type PolicyLook } from './standing.ts';

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
