/** The words of conditions Progressing and Succeeded from the start of the rollout on (spec/talm 2.3). Pure. */
import { explain } from '@flotilla/api/ran';
import { saidOf, type Wait, WHOLE_UPGRADE } from '../waits/wait.ts';
import type { ClusterRecord, RolloutMode, RolloutProblem, Verdict } from './model.ts';

type Kind = RolloutMode['kind'];

/** Verdicts of an outcome in both conditions. */
export interface Outcome {
  readonly progressing: Verdict;
  readonly succeeded: Verdict;
}

const running = {
  policy: 'Remediating non-compliant policies',
  manifestWork: 'Rolling out manifestworks',
} as const;

const completed = {
  policy: 'All clusters are compliant with all the managed policies',
  manifestWork: 'All manifestworks rolled out successfully on all clusters',
} as const;

const timedOut = {
  policy: 'Policy remediation took too long',
  manifestWork: 'Manifestwork rollout took too long',
} as const;

/** The rollout goes on. */
export const inProgress = (kind: Kind): Verdict => ({ status: 'True', reason: 'InProgress', message: running[kind] });

/** The rollout goes on, and errors that last are told: of the Placements, else of the first of the clusters. */
export function describeProblems(
  verdict: Verdict,
  ofPlacements: RolloutProblem | undefined,
  ofClusters: Readonly<Record<string, string>>,
): Verdict {
  const clusters = Object.entries(ofClusters);
  const [first] = clusters.toSorted(([a], [b]) => (a < b ? -1 : 1));
  const others = clusters.length > 1 ? `; ${clusters.length - 1} more in status.messages` : '';
  const whose = first?.[0] === WHOLE_UPGRADE ? '' : `cluster ${first?.[0]}: `;
  const why = ofPlacements?.message ?? (first && `${whose}${saidOf(first[1])}${others}`);
  return why === undefined ? verdict : { ...verdict, message: `${verdict.message} (${why})` };
}

/** Why a cluster that was complete holds up the end. @param gate the one that has to open before the policy is enforced there again */
export const fellBack = (policy: string, gate: string | undefined): Wait => ({
  cause: 'policy',
  says: `does not comply with policy ${policy} any more; the policy is enforced there again with the last batch${gate === undefined ? '' : `, when gate ${gate} opens`}`,
});

const FELL_BACK = /^does not comply with policy (.+) (?:any more;|at the last look;)/;
/** The policy that `fellBack` or `leftBehind` is about; undefined of any other sentence. */
export const policyFellBackFrom = (says: string): string | undefined => FELL_BACK.exec(says)?.[1];

/** Why a cluster that timed out holds up the end. */
export const leftBehind = (policy: string): Wait => ({
  cause: 'policy',
  says: `does not comply with policy ${policy} at the last look; the end waits for it until the time of the upgrade is over`,
});

/** A Placement cannot select clusters. */
export const waitingForPlacement = (message: string): Verdict => ({ status: 'True', reason: 'WaitingForPlacement', message });

/** A Placement selects a cluster that is no member. */
export const stoppedBySurplus = ({ says, fix }: Pick<Wait, 'says' | 'fix'>): Verdict => ({
  status: 'True',
  reason: 'UnexpectedCluster',
  message: `${says}; ${fix}`,
});

/** The start waits for the window. */
export const waitingForWindow = (message: string): Verdict => ({
  status: 'False',
  reason: 'WaitingForWindow',
  message: explain('WaitingForWindow', message),
});

/** The record of a cluster that had nothing to do, because no policy of the upgrade is meant for it. */
export const UNREACHED = 'no policy of the upgrade is placed on it';

/** Clusters that no policy reached, as the end of an upgrade tells of them. */
function unreached(records: readonly Pick<ClusterRecord, 'name' | 'message'>[]): string {
  const found = records.filter(({ message }) => message === UNREACHED);
  return found.length === 0
    ? ''
    : `; none of them is placed on ${found.length} of the clusters (status.clusters), the first is ${found[0]?.name}`;
}

/** Every cluster got there. */
export const allCompleted = (kind: Kind, records: readonly ClusterRecord[] = []): Outcome => ({
  progressing: { status: 'False', reason: 'Completed', message: `${completed[kind]}${unreached(records)}` },
  succeeded: { status: 'True', reason: 'Completed', message: `${completed[kind]}${unreached(records)}` },
});

/** There was nothing to do; of ManifestWorks the reference says the same as of policies. */
export const alreadyCompliant = (records: readonly ClusterRecord[] = []): Outcome => ({
  progressing: { status: 'False', reason: 'Completed', message: `${completed.policy}${unreached(records)}` },
  succeeded: {
    status: 'True',
    reason: 'Completed',
    message: `All clusters already compliant with the specified managed policies${unreached(records)}`,
  },
});

/** Time is up; `where` is part of the contract, with its leading blank. */
export function tookTooLong(kind: Kind, where: '' | ' on canary clusters' | ' on some clusters'): Outcome {
  const verdict: Verdict = { status: 'False', reason: 'TimedOut', message: `${timedOut[kind]}${where}` };
  return { progressing: verdict, succeeded: verdict };
}

/** The upgrade ends without having done what it was for. */
export const failed = (message: string): Outcome => ({
  progressing: { status: 'False', reason: 'Completed', message },
  succeeded: { status: 'False', reason: 'Failed', message },
});

/** Some clusters got there and some did not. */
export const partlyDone = (message: string): Outcome => ({
  ...failed(message),
  succeeded: { status: 'False', reason: 'PartiallyDone', message },
});

/** Prefix of a message that says why the hub cannot go on with a spoke. */
export const TROUBLE_PREFIX = 'cannot go on: ';
