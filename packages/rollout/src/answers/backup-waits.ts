/** Why a cluster is not backed up yet, by the state of its job. Pure. */
import { BackupName, type BackupState } from '@flotilla/api/ran';
import { byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import { explainSentence } from './hub-sentences.ts';
import { presence } from './presence.ts';
import type { ClusterQuestion } from './question.ts';

/** A state that is added to the machine and forgotten here does not compile; a cluster without one has not begun. */
const judges: Readonly<Record<BackupState | 'NotStarted', (question: ClusterQuestion) => Finding>> = {
  NotStarted: (question) => say(question, 'waits for its backup to begin', 'It begins when the hub has room for another cluster.'),
  PreparingToStart: (question) =>
    say(question, 'is cleaned of what an earlier backup left there', 'It goes on when the agent has removed it.'),
  Starting: (question) =>
    say(question, 'has been given the backup, whose pod does not run yet', `It goes on when the pod of Job ${BackupName.job} runs.`),
  Active: (question) => say(question, 'is being backed up', 'It goes on when the backup has ended.'),
  Succeeded: (question) => say(question, 'is backed up', 'The hub goes on with its next pass.'),
  BackupTimeout: fail,
  UnrecoverableError: fail,
};

const stateOf = ({ facts, cluster }: ClusterQuestion): BackupState | 'NotStarted' =>
  facts.upgrade.status?.backup?.status?.[cluster] ?? 'NotStarted';

/** Why the backup of a cluster has not ended. */
export function backupWait(question: ClusterQuestion): Finding {
  const state = stateOf(question);
  const isBegun = state !== 'NotStarted' && state !== 'Succeeded';
  return (isBegun ? presence(question) : undefined) ?? judges[state](question);
}

const OWN = { says: 'their backup' } as const;

function say(question: ClusterQuestion, says: string, release: string): Finding {
  const { facts, cluster } = question;
  const message = facts.upgrade.status?.backup?.messages?.[cluster];
  if (message === undefined)
    return finding(
      'gate-backup',
      link(`${cluster} ${says}`, upgradeEvidence(facts, `status.backup.status[${cluster}]`, stateOf(question))),
      byItself(release),
      OWN,
    );
  const first = link(`${cluster}: ${message}`, upgradeEvidence(facts, `status.backup.messages[${cluster}]`, message));
  const told = explainSentence(question, { message, namespace: BackupName.namespace, first });
  return told.cause.startsWith('precache-') && told.cause !== 'precache-claim' ? { ...told, cause: 'gate-backup' } : told;
}

function fail({ facts, cluster }: ClusterQuestion): Finding {
  const { status = {}, messages = {} } = facts.upgrade.status?.backup ?? {};
  const message = messages[cluster] ?? 'without a sentence';
  return finding(
    'failed',
    link(
      `the backup of ${cluster} failed (${status[cluster]}): ${message}`,
      upgradeEvidence(facts, `status.backup.messages[${cluster}]`, message),
    ),
    bySomebody('Mend what the message names, then try the cluster again (flotilla retry).'),
    { says: `the backup failed: ${message.replaceAll(cluster, '(cluster)')}` },
  );
}
