/** Says where a cluster was when its part ended without success, and how that stands now. Pure. */
import { foreign } from '@flotilla/api';
import type { WhyLink } from '@flotilla/api/answers';
import { ManifestStatus } from '@flotilla/api/ocm';
import { z } from 'zod';
import type { ClusterRecord } from '../upgrade/model.ts';
import { judgeWork } from '../works/manifest-works.ts';
import { objectOf } from './facts.ts';
import { complianceLinks } from './policy-waits.ts';
import type { ClusterQuestion } from './question.ts';
import { refusedManifest, workLinks } from './work-waits.ts';

const WorkStatus = foreign(z.looseObject({ manifests: z.array(ManifestStatus) }));

/** Says where it was, and the cause as far as the record has it; undefined for a record that says nothing of it. */
export function leftAt({ currentPolicy, currentManifestWork }: ClusterRecord): string | undefined {
  if (currentPolicy) {
    const { name, status } = currentPolicy;
    return typeof status === 'string' && status !== '' ? `policy ${name} was ${status}` : `at policy ${name}`;
  }
  if (!currentManifestWork) return undefined;
  const { name, status } = currentManifestWork;
  const [refused] = refusedManifest(WorkStatus.safeParse(status).data?.manifests);
  return `at ManifestWork ${name}${refused ? `: ${refused.says}` : ''}`;
}

/** Says how that stands now, in the words of the cluster; empty where it is not there any more or nobody may read it. */
export function standsNow(question: ClusterQuestion, { currentPolicy, currentManifestWork }: ClusterRecord): WhyLink[] {
  const { facts, cluster } = question;
  if (currentPolicy) {
    const ref = facts.upgrade.status?.managedPoliciesForUpgrade?.find(({ name }) => name === currentPolicy.name);
    const copy = ref && objectOf(facts.policyCopy(ref, cluster));
    return copy ? complianceLinks(question, ref, copy) : [];
  }
  const work = currentManifestWork && objectOf(facts.work(cluster, currentManifestWork.name));
  return work ? workLinks(question, work, judgeWork(work, { now: facts.now, appliedSince: () => facts.now })) : [];
}
