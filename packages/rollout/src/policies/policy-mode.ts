/** Progress by policies: a cluster is through with one when the policy's roll-up says so (spec/talm 2.6.8, 2.10). Pure. */

import { Annotation } from '@flotilla/api';
import type { Policy } from '@flotilla/api/ocm';
import type { PolicyRef, RolloutMode, Standing } from '../upgrade/model.ts';
import { type Compliance, indexCompliance } from './policies.ts';

const standings: Record<Compliance, Standing> = { Compliant: 'done', NonCompliant: 'pending', NotMatchedWithPolicy: 'notMatched' };

/** Where the policies of a rollout are read. */
interface PolicySource {
  readonly parent: (ref: PolicyRef) => Policy | undefined;
  /** The policy's copy is in the cluster's namespace. */
  readonly hasCopy: (ref: PolicyRef, cluster: string) => boolean;
}

/** The policies of a running rollout, in order. A policy that is gone holds its clusters: nothing says that they comply. */
export function policyMode(policies: readonly PolicyRef[], { parent, hasCopy }: PolicySource): RolloutMode {
  const found = policies.map((ref) => {
    const policy = parent(ref);
    const soak = policy ? readSoak(policy) : { seconds: 0 };
    return { name: ref.name, compliance: policy && indexCompliance(policy, (cluster) => hasCopy(ref, cluster)), soakSeconds: soak.seconds };
  });
  const complianceOf = (cluster: string, index: number): Compliance => found[index]?.compliance?.(cluster) ?? 'NonCompliant';
  return {
    kind: 'policy',
    count: found.length,
    name: (index) => found[index]?.name ?? '',
    standing: (cluster, index) => standings[complianceOf(cluster, index)],
    soakSeconds: (index) => found[index]?.soakSeconds ?? 0,
    detail: (cluster, index) => ({ currentPolicy: { name: found[index]?.name ?? '', status: complianceOf(cluster, index) } }),
  };
}

/** Seconds a policy must stay compliant; `problem` when its annotation is no whole number, which counts as no soak. */
export function readSoak({ metadata }: Policy): { readonly seconds: number; readonly problem?: string } {
  const given = metadata.annotations?.[Annotation.soakSeconds];
  if (given === undefined) return { seconds: 0 };
  if (/^\d{1,9}$/.test(given)) return { seconds: Number(given) };
  const at = `annotation ${Annotation.soakSeconds} of policy ${metadata.namespace}/${metadata.name}`;
  return { seconds: 0, problem: `${at} is ${JSON.stringify(given)}, not a whole number of seconds; the policy is not soaked` };
}
