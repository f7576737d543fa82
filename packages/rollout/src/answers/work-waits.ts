/** Why the ManifestWork that a cluster is at is not done. Pure. */
import { findCondition } from '@flotilla/api';
import type { Release, WhyLink } from '@flotilla/api/answers';
import { type ManifestStatus, type ManifestWork, WORK_APPLIED } from '@flotilla/api/ocm';
import { indexOf } from '../batches/cluster-progress.ts';
import { templatesOf } from '../upgrade/stage.ts';
import { judgeWork, type WorkVerdict } from '../works/manifest-works.ts';
import { objectOf } from './facts.ts';
import { byItself, bySomebody, type Finding, finding, link } from './finding.ts';
import { managedUpgradeOf, operatorsNamed } from './managed-upgrade.ts';
import { progressEvidence, progressOf } from './progress.ts';
import type { ClusterQuestion } from './question.ts';

/** The work that the cluster is at: there, applied, and with the values that are expected. */
export function workWait(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const template = templatesOf(facts.upgrade)[indexOf(progressOf(question), 'manifestWork')] ?? '';
  const says = `ManifestWork of ${template} to be done`;
  const head = link(`${cluster} is at ManifestWork ${template}`, progressEvidence(question));
  const seen = facts.work(cluster, template);
  if (seen.kind !== 'read') return finding('work', { ...head, isUnknown: seen.kind === 'unread' }, GOES_ON, { says });
  const found = (links: readonly WhyLink[], release: Release): Finding => ({
    cause: 'work',
    own: { cause: 'work', says },
    links: [head, ...links],
    release,
  });
  const work = seen.object;
  if (!work) {
    const gone = { object: `ManifestWork ${cluster}/(${template})`, field: 'metadata.name', value: '(not found)' };
    return found([link('the work is not there yet', gone)], byItself('The hub creates it with its next step.'));
  }
  const verdict = judgeWork(work, { now: facts.now, appliedSince: () => facts.now });
  return found(workLinks(question, work, verdict), releaseOf(work, verdict));
}

/** Links for what a work waits for, in the words of the agent and of the managed upgrade below it. */
export function workLinks(
  { facts, cluster }: Pick<ClusterQuestion, 'facts' | 'cluster'>,
  work: ManifestWork,
  verdict: WorkVerdict,
): WhyLink[] {
  const object = `ManifestWork ${cluster}/${work.metadata.name}`;
  const observedAt = objectOf(facts.agentLease(cluster))?.spec?.renewTime ?? undefined;
  const waits = verdict.complete ? 'it is done; the hub goes on with its next pass' : verdict.waitsFor;
  const managed = managedUpgradeOf(work);
  const lines = managed.map(({ says: line, field, value }) => link(line, { object, field, value, observedAt }));
  const operators = managed.flatMap(({ kind, field, value }) =>
    operatorsNamed(value, kind === 'ClusterVersion').map((operator) =>
      link(`ClusterOperator ${operator} is waited for`, { object, field, value, observedAt }),
    ),
  );
  const state = link(`the work waits: ${waits}`, { object, field: 'status', value: waits, observedAt });
  const refused = refusedManifest(work.status?.resourceStatus?.manifests).map(({ says: line, field, value }) =>
    link(line, { object, field, value, observedAt }),
  );
  return [state, ...refused, ...lines, ...operators];
}

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

function releaseOf(work: ManifestWork, verdict: WorkVerdict): Release {
  if (verdict.complete) return byItself('The hub goes on with its next pass.');
  if (verdict.problem !== undefined) return bySomebody('Correct the annotation with the expected values in the ManifestWorkReplicaSet.');
  if (verdict.countsAt !== undefined) return byItself('It counts when the agent has had time to read it again.', verdict.countsAt);
  if (findCondition(work.status?.conditions, WORK_APPLIED)?.status === 'False')
    return bySomebody(
      'Mend what the agent says of the manifest (its content, or what the agent may do on the cluster); it is applied again by itself.',
    );
  return GOES_ON;
}
