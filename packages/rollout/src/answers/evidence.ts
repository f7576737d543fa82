/** Objects of one cluster that no decision has looked into: what its agent, its policies and its works say. Pure. */
import { Annotation, findCondition, foreign } from '@flotilla/api';
import type { Release, WhyLink } from '@flotilla/api/answers';
import { ACTION_COMPLETED, AGENT_LEASE, type ManifestStatus, type ManifestWork, type Policy, WORK_APPLIED } from '@flotilla/api/ocm';
import { fixOf } from '@flotilla/api/ran';
import { z } from 'zod';
import { indexOf } from '../batches/cluster-machine.ts';
import { isEnforced } from '../policies/policies.ts';
import { targetOf } from '../spoke/targets.ts';
import { REPORTS_PER_SECOND } from '../spoke-jobs/spoke-job.ts';
import { observeOutcome } from '../transport/answers.ts';
import type { ClusterProgress, PolicyRef } from '../upgrade/model.ts';
import { templatesOf } from '../upgrade/stage.ts';
import { notFound } from '../waits/wait.ts';
import { judgeWork } from '../works/manifest-works.ts';
import { isGeneration } from '../works/work-generations.ts';
import { isStale, objectOf, statusWrittenAt } from './facts.ts';
import { byItself, bySomebody, type ClusterQuestion, type Finding, finding, findingOf, link, upgradeEvidence } from './finding.ts';

type Asked = Pick<ClusterQuestion, 'facts' | 'cluster'>;

/** Evidence that is older is no sign of how things are now: a lease says that a cluster lives, and nothing of what is in it. */
const OLD_MS = 300_000;
/** A puller reports at least once in two even shares of all reports: its interval grows in doublings. */
const EVEN_INTERVALS = 2;

/** Age of evidence by its own last change; unknown where it is old, or where nobody can date it. */
const dated = ({ facts }: Asked, observedAt: string | undefined) => datedWithin(OLD_MS, observedAt, facts.now);

const datedWithin = (oldMs: number, observedAt: string | undefined, now: number) => ({
  observedAt,
  isUnknown: observedAt === undefined || now - Date.parse(observedAt) > oldMs,
});

/** Age of a puller's report, which comes more rarely the more clusters pull. @param clusters of the upgrade */
export const datedReport = (observedAt: string | undefined, clusters: number, now: number) =>
  datedWithin(OLD_MS + (EVEN_INTERVALS * clusters * 1_000) / REPORTS_PER_SECOND, observedAt, now);

/** Progress of a cluster; empty where none is stored. */
export const progressOf = ({ facts, cluster }: Asked): ClusterProgress =>
  facts.upgrade.status?.status.currentBatchRemediationProgress?.[cluster] ?? {};
/** The same as evidence. */
export const progressEvidence = (asked: Asked) =>
  upgradeEvidence(asked.facts, `status.status.currentBatchRemediationProgress[${asked.cluster}]`, progressOf(asked));

/** A cluster that counts as available may have been silent for a while: what its agent reported last is then no evidence. */
export function silence(question: ClusterQuestion): Finding | undefined {
  const { facts, cluster } = question;
  const lease = objectOf(facts.agentLease(cluster));
  if (!lease || !isStale(lease, facts.now)) return undefined;
  const renewed = lease.spec?.renewTime ?? undefined;
  const of = { object: `Lease ${cluster}/${AGENT_LEASE}`, field: 'spec.renewTime', value: renewed ?? '(never)' };
  const fix = `it goes on when the agent of ${cluster} reports again: ${fixOf('AgentSilent', { cluster })}`;
  const since = renewed === undefined ? undefined : Date.parse(renewed);
  return findingOf(question, { cause: 'agent-silent', says: `no word from the agent of ${cluster}`, fix, since, of }, of, cluster);
}

/** The policy or the work that a cluster is at, and what is said of it there. */
export const targetWait = (question: ClusterQuestion): Finding =>
  silence(question) ?? (templatesOf(question.facts.upgrade).length > 0 ? workWait(question) : policyWait(question));

/** Name of the policy or template that the cluster is at. */
export function targetName({ facts, cluster }: Asked): string {
  const templates = templatesOf(facts.upgrade);
  const index = indexOf(progressOf({ facts, cluster }), templates.length > 0 ? 'manifestWork' : 'policy');
  return (templates.length > 0 ? templates[index] : facts.upgrade.status?.managedPoliciesForUpgrade?.[index]?.name) ?? String(index);
}

/** The policy that the cluster is at: enforced, compliant. */
function policyWait(question: ClusterQuestion): Finding {
  const { facts, members, cluster } = question;
  const name = targetName(question);
  const isAgain = (members.batch(cluster) ?? Number.POSITIVE_INFINITY) < (facts.upgrade.status?.status.currentBatch ?? 0);
  const own = { says: `policy ${name} to be compliant${isAgain ? ' again' : ''}` };
  const head = link(`${cluster} is at policy ${name}`, progressEvidence(question));
  const release = byItself('It goes on when the policy is compliant, or when the batch times out.');
  const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.find((each) => each.name === name);
  const seen = ref ? facts.policyCopy(ref, cluster) : ({ kind: 'skipped' } as const);
  if (!ref || seen.kind !== 'read') return finding('policy', { ...head, isUnknown: seen.kind === 'unread' }, release, own);
  const copy = seen.object;
  const found = (links: readonly WhyLink[], released: Release): Finding => ({
    ...finding('policy', head, released, own),
    links: [head, ...links],
  });
  if (!copy) {
    return found(
      [link('the policy is not placed on the cluster', notFound(`Policy ${cluster}/${ref.namespace}.${name}`))],
      bySomebody('Place the policy on the cluster (PlacementBinding).'),
    );
  }
  const [compliance, ...details] = complianceLinks(question, ref, copy);
  if (!isEnforced(copy)) {
    const value = copy.spec?.remediationAction ?? '(none)';
    const enforced = { ...compliance, says: 'the policy is not enforced on the cluster yet', field: 'spec.remediationAction', value };
    return found(
      [compliance, enforced],
      byItself('It goes on when the Placement of the upgrade selects the cluster and the policy framework has enforced the copy.'),
    );
  }
  const refused = refusedApprovals(question);
  const links = [compliance, ...details, ...refused];
  if (!copy.status?.compliant)
    return found(links, bySomebody(`It goes on when the policy framework on ${cluster} reports: ${PODS_OF_POLICIES}.`));
  if (refused.length > 0) return found(links, REFUSED);
  if (compliance.isUnknown)
    return found(
      links,
      bySomebody(
        `${release.says} Its status on ${cluster} is old, or nobody can date it: ${PODS_OF_POLICIES}, if that should have changed.`,
      ),
    );
  return found(links, release);
}

const PODS_OF_POLICIES = 'see its pods there (namespace open-cluster-management-agent-addon)';
const REFUSED = bySomebody('Correct the cause of the refusal on the cluster; the approval of the InstallPlan is tried again by itself.');

const Detail = z.looseObject({
  compliant: z.string().optional(),
  history: z.array(z.looseObject({ message: z.string().optional(), lastTimestamp: z.string().optional() })).optional(),
});
/** One that cannot be read keeps its place, which the answer names. */
const Details = z.array(foreign(Detail).catch({})).catch([]);

/** Links for what a replicated policy says of the cluster: its compliance, and the latest message of its first template that does not comply. */
export function complianceLinks(asked: Asked, { namespace, name }: PolicyRef, copy: Policy): [WhyLink, ...WhyLink[]] {
  const object = `Policy ${asked.cluster}/${namespace}.${name}`;
  const details = Details.parse(copy.status?.details ?? []);
  const index = details.findIndex(({ compliant: each }) => each !== 'Compliant');
  const { message, lastTimestamp } = details[index]?.history?.[0] ?? {};
  const changed = dated(asked, latestOf(statusWrittenAt(copy), lastTimestamp));
  const { compliant } = copy.status ?? {};
  const compliance = link(`policy ${name} is ${compliant ?? 'not reported yet'}`, {
    object,
    field: 'status.compliant',
    value: compliant ?? '(none)',
    ...changed,
    isUnknown: compliant !== undefined && changed.isUnknown,
  });
  if (!message) return [compliance];
  const evidence = { object, field: `status.details[${index}].history[0]`, value: message, ...changed };
  const operators = operatorsNamed(message).map((operator) => link(`ClusterOperator ${operator} is waited for`, evidence));
  return [compliance, link(message, evidence), ...operators];
}

const latestOf = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && Date.parse(b) > Date.parse(a)) ? b : a;

/** Links for approvals of InstallPlans that the cluster has refused; none where its policy has no Subscriptions. */
function refusedApprovals({ facts, cluster }: Asked): WhyLink[] {
  const target = targetOf(facts.upgrade, cluster);
  if (target.phase !== 'remediate' || target.mode !== 'policy' || target.subscriptions.length === 0) return [];
  const namespaces = new Set(target.subscriptions.map(({ namespace }) => namespace));
  return (objectOf(facts.approvals(cluster)) ?? []).flatMap((action) => {
    const { resource, namespace = '' } = action.spec?.kube ?? {};
    if (resource !== 'installplan' || !namespaces.has(namespace)) return [];
    const { outcome, message, retries } = observeOutcome(action);
    const approval = `the approval of InstallPlan ${namespace}/${action.metadata.name} was refused`;
    const object = `ManagedClusterAction ${cluster}/${action.metadata.name}`;
    if (outcome === 'pending' && retries > 0) {
      const field = `metadata.annotations[${Annotation.retries}]`;
      return link(`${approval} ${retries} times and is tried again`, { object, field, value: String(retries) });
    }
    if (outcome !== 'failed') return [];
    const observedAt = findCondition(action.status?.conditions, ACTION_COMPLETED)?.lastTransitionTime;
    return link(`${approval}: ${message}`, { object, field: `status.conditions[${ACTION_COMPLETED}].message`, value: message, observedAt });
  });
}

/** The work that the cluster is at: there, applied, and with the values that are expected. */
function workWait(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const template = targetName(question);
  const own = { says: `ManifestWork of ${template} to be done` };
  const head = link(`${cluster} is at ManifestWork ${template}`, progressEvidence(question));
  const seen = facts.work(cluster, template);
  if (seen.kind !== 'read') return finding('work', { ...head, isUnknown: seen.kind === 'unread' }, GOES_ON, own);
  const work = seen.object;
  if (!work) {
    const missing = link('the work is not there yet', notFound(`ManifestWork ${cluster}/(${template})`));
    return { ...finding('work', head, byItself('The hub creates it with its next step.'), own), links: [head, missing] };
  }
  return { ...finding('work', head, releaseOf(question, work), own), links: [head, ...workLinks(question, work)] };
}

/** Links for what a work waits for, in the words of the agent and of the managed upgrade below it. */
export function workLinks(asked: Asked, work: ManifestWork): WhyLink[] {
  const verdict = judgedNow(asked, work);
  const evidence = { object: `ManifestWork ${asked.cluster}/${work.metadata.name}`, ...dated(asked, statusWrittenAt(work)) };
  const waits = verdict.complete ? 'it is done; the hub goes on with its next pass' : verdict.waitsFor;
  const managed = managedUpgradeOf(work);
  const operators = managed.flatMap(({ kind, field, value }) =>
    operatorsNamed(value, kind === 'ClusterVersion').map((operator) => ({
      says: `ClusterOperator ${operator} is waited for`,
      field,
      value,
    })),
  );
  const state = { says: `the work waits: ${waits}`, field: 'status', value: waits };
  const refused = refusedManifest(work.status?.resourceStatus?.manifests);
  return [state, ...refused, ...managed, ...operators].map(({ says, field, value }) => link(says, { ...evidence, field, value }));
}

const judgedNow = ({ facts: { now } }: Asked, work: ManifestWork) => judgeWork(work, { now, appliedSince: () => now });

/** The first manifest that the agent could not apply, in its words; the condition of the work names none. */
export function refusedManifest(
  manifests: readonly ManifestStatus[] = [],
): { readonly says: string; readonly field: string; readonly value: string }[] {
  const refused = manifests.find(({ conditions }) => findCondition(conditions, WORK_APPLIED)?.status === 'False');
  if (!refused) return [];
  const { kind, name, ordinal } = refused.resourceMeta;
  const value = findCondition(refused.conditions, WORK_APPLIED)?.message ?? '';
  const field = `status.resourceStatus.manifests[${ordinal}].conditions[${WORK_APPLIED}].message`;
  return [{ says: `${kind} ${name}: ${value}`, field, value }];
}

const GOES_ON = byItself('It goes on when the work reports what is expected, or when the batch times out.');

function releaseOf(asked: Asked, work: ManifestWork): Release {
  const verdict = judgedNow(asked, work);
  if (verdict.complete) return byItself('The hub goes on with its next pass.');
  if (verdict.problem !== undefined) return bySomebody('Correct the annotation with the expected values in the ManifestWorkReplicaSet.');
  if (verdict.countsAt !== undefined) return byItself('It counts when the agent has had time to read it again.', verdict.countsAt);
  if (findCondition(work.status?.conditions, WORK_APPLIED)?.status === 'False')
    return bySomebody(
      'Correct the manifest, or the rights of the agent on the cluster, as the message says; it is applied again by itself.',
    );
  if (!dated(asked, statusWrittenAt(work)).isUnknown) return GOES_ON;
  return bySomebody(
    `${GOES_ON.says} Its status is old, or nobody can date it: see the work agent on ${asked.cluster}, if that should have changed.`,
  );
}

/** One value that the work reports of an UpgradeConfig, a ClusterVersion or the Plan of a system upgrade controller. */
interface ManagedLine {
  readonly kind: string;
  readonly says: string;
  readonly field: string;
  readonly value: string;
}

/** From what is wanted to what it waits for. */
const KINDS = ['UpgradeConfig', 'ClusterVersion', 'ClusterOperator', 'Plan'];
/** Kinds of which a cluster has several. */
const NAMED_KINDS = new Set(['Plan']);
/** Values of one work that are shown. */
const MOST_LINES = 6;

/** Status feedback of the work on the managed upgrade that it carries; empty where it carries none. */
export function managedUpgradeOf({ status }: ManifestWork): ManagedLine[] {
  const place = ({ resourceMeta }: { readonly resourceMeta: { readonly kind?: string | undefined } }) =>
    KINDS.indexOf(resourceMeta.kind ?? '');
  const manifests = (status?.resourceStatus?.manifests ?? []).filter((manifest) => place(manifest) >= 0);
  return manifests
    .toSorted((a, b) => place(a) - place(b))
    .flatMap(({ resourceMeta: { kind = '', name: object, ordinal }, statusFeedback }) =>
      (statusFeedback?.values ?? []).flatMap(({ name, fieldValue }) => {
        if (isGeneration(name)) return [];
        const value = String(fieldValue.string ?? fieldValue.integer ?? fieldValue.boolean ?? fieldValue.jsonRaw ?? '');
        if (value === '' && NAMED_KINDS.has(kind)) return [];
        const field = `status.resourceStatus.manifests[${ordinal}].statusFeedback.values[${name}]`;
        const whose = NAMED_KINDS.has(kind) ? `${kind} ${object}` : kind;
        return [{ kind, says: `${whose} ${name}: ${value}`, field, value }];
      }),
    )
    .slice(0, MOST_LINES);
}

/** As version operators and policies name operators in a sentence: "waiting on etcd, network", "Cluster operator etcd is degraded". */
const NAMES = `([a-z][a-z0-9-]{1,62}(?:(?:,| and|, and) [a-z][a-z0-9-]{1,62})*)`;
const NAMED = [
  new RegExp(String.raw`\b[Cc]luster [Oo]perators? ${NAMES} (?:is|are|has|have|does|do)\b`, 'u'),
  new RegExp(String.raw`\bClusterOperator[ /]"?${NAMES}`, 'u'),
  new RegExp(String.raw`\bwaiting (?:up to \d{1,6} minutes )?on ${NAMES}(?=$|[.,:;)]| )`, 'u'),
  new RegExp(String.raw`\bfor these operators: ${NAMES}`, 'u'),
];
/** Words that follow "waiting on" and name no operator. */
const NO_NAMES = new Set(['the', 'a', 'an', 'its', 'all', 'cluster', 'operators', 'operator', 'node', 'nodes', 'upgrade', 'is', 'to']);
/** A sentence without these words waits for something other than ClusterOperators. */
const IS_ABOUT = /cluster ?(?:operator|version)/iu;
/** Operators of one sentence that are named. */
const MOST_OPERATORS = 3;

/** ClusterOperators that a sentence says are waited for. @param isVersions it is that of a ClusterVersion */
export function operatorsNamed(sentence: string, isVersions = IS_ABOUT.test(sentence)): string[] {
  if (!isVersions) return [];
  const found = NAMED.map((pattern) => pattern.exec(sentence)?.[1]).find((names) => names !== undefined);
  const names = (found ?? '').split(/,? and |, ?/u).filter((name) => name !== '');
  return names.some((name) => NO_NAMES.has(name)) ? [] : names.slice(0, MOST_OPERATORS);
}
