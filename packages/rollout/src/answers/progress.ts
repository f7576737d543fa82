/** The stored progress of a cluster, and as evidence. Pure. */
import type { ClusterProgress } from '../upgrade/model.ts';
import { upgradeEvidence } from './finding.ts';
import type { ClusterQuestion } from './question.ts';

type Asked = Pick<ClusterQuestion, 'facts' | 'cluster'>;

/** Path of the progress. */
export const progressField = (cluster: string): string => `status.status.currentBatchRemediationProgress[${cluster}]`;
/** Progress of a cluster; empty where none is stored. */
export const progressOf = ({ facts, cluster }: Asked): ClusterProgress =>
  facts.upgrade.status?.status.currentBatchRemediationProgress?.[cluster] ?? {};
/** The same as evidence. */
export const progressEvidence = (question: Asked) => upgradeEvidence(question.facts, progressField(question.cluster), progressOf(question));
