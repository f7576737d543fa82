/** Why a cluster does not comply with the policy it is at. Pure. */
import { foreign } from '@flotilla/api';
import type { WhyLink } from '@flotilla/api/answers';
import type { Policy } from '@flotilla/api/ocm';
import { z } from 'zod';
import { indexOf } from '../batches/cluster-progress.ts';
import { isEnforced } from '../policies/policies.ts';
import type { PolicyRef } from '../upgrade/model.ts';
import { refusedApprovals } from './approval-waits.ts';
import { objectOf } from './facts.ts';
import { byItself, bySomebody, type Finding, finding, link } from './finding.ts';
import { operatorsNamed } from './managed-upgrade.ts';
import { progressEvidence, progressOf } from './progress.ts';
import type { ClusterQuestion } from './question.ts';

const Detail = z.looseObject({
  compliant: z.string().optional(),
  templateMeta: z.looseObject({ name: z.string().optional() }).optional(),
  history: z.array(z.looseObject({ message: z.string().optional(), lastTimestamp: z.string().optional() })).optional(),
});
/** One that cannot be read keeps its place, which the answer names. */
const Details = z.array(foreign(Detail).catch({})).catch([]);

/** Latest message of the first template of a replicated policy that is not compliant. */
function worst({ status }: Policy): { readonly at: string; readonly message: string; readonly time: string | undefined } | undefined {
  const details = Details.parse(status?.details ?? []);
  const index = details.findIndex(({ compliant }) => compliant !== 'Compliant');
  const latest = details[index]?.history?.[0];
  return latest && { at: `status.details[${index}].history[0]`, message: latest.message ?? '', time: latest.lastTimestamp };
}

/** Its batch is over: it complied with the policy before. */
const isAgain = ({ facts, members, cluster }: ClusterQuestion): boolean =>
  (members.batch(cluster) ?? Number.POSITIVE_INFINITY) < (facts.upgrade.status?.status.currentBatch ?? 0);

/** The policy that the cluster is at: placed, enforced, compliant. */
export function policyWait(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const index = indexOf(progressOf(question), 'policy');
  const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.[index];
  const name = ref?.name ?? String(index);
  const says = `policy ${name} to be compliant${isAgain(question) ? ' again' : ''}`;
  const head = link(`${cluster} is at policy ${name}`, progressEvidence(question));
  const release = byItself('It goes on when the policy is compliant, or when the batch times out.');
  const seen = ref ? facts.policyCopy(ref, cluster) : ({ kind: 'skipped' } as const);
  if (!ref || seen.kind !== 'read') return finding('policy', { ...head, isUnknown: seen.kind === 'unread' }, release, { says });
  const object = `Policy ${cluster}/${ref.namespace}.${ref.name}`;
  const found = (links: readonly WhyLink[], released = release): Finding => ({
    cause: 'policy',
    own: { cause: 'policy', says },
    links: [head, ...links],
    release: released,
  });
  const copy = seen.object;
  if (!copy) {
    const gone = link('the policy is not placed on the cluster', { object, field: 'metadata.name', value: '(not found)' });
    return found([gone], bySomebody('Place the policy on the cluster (PlacementBinding).'));
  }
  const links = complianceLinks(question, ref, copy);
  const observedAt = links[0]?.observedAt;
  if (!isEnforced(copy))
    return found(
      [
        ...links.slice(0, 1),
        link('the policy is not enforced on the cluster yet', {
          object,
          field: 'spec.remediationAction',
          value: copy.spec?.remediationAction ?? '(none)',
          observedAt,
        }),
      ],
      byItself('It goes on when the Placement of the upgrade selects the cluster and the policy framework has enforced the copy.'),
    );
  if (!copy.status?.compliant)
    return found(
      links,
      bySomebody(
        `It goes on when the policy framework on ${cluster} reports: see its pods there (namespace open-cluster-management-agent-addon).`,
      ),
    );
  const refused = refusedApprovals(question);
  return found([...links, ...refused], refused.length > 0 ? MENDED : release);
}

const MENDED = bySomebody('Mend what the refusal of the InstallPlan names on the cluster; its approval is tried again by itself.');

/** Links for what a replicated policy says of the cluster. */
export function complianceLinks(
  { facts, cluster }: Pick<ClusterQuestion, 'facts' | 'cluster'>,
  { namespace, name }: PolicyRef,
  copy: Policy,
): WhyLink[] {
  const object = `Policy ${cluster}/${namespace}.${name}`;
  const worstOf = worst(copy);
  const observedAt = objectOf(facts.agentLease(cluster))?.spec?.renewTime ?? worstOf?.time;
  const { compliant } = copy.status ?? {};
  const compliance = link(`policy ${name} is ${compliant ?? 'not reported yet'}`, {
    object,
    field: 'status.compliant',
    value: compliant ?? '(none)',
    observedAt,
  });
  if (!worstOf?.message) return [compliance];
  const evidence = { object, field: worstOf.at, value: worstOf.message, observedAt: worstOf.time ?? observedAt };
  const operators = operatorsNamed(worstOf.message).map((operator) => link(`ClusterOperator ${operator} is waited for`, evidence));
  return [compliance, link(worstOf.message, evidence), ...operators];
}
