/** Why a cluster is not cached yet, by the state of its job. Pure. */
import type { Release, WaitCause } from '@flotilla/api/answers';
import { fixOf, type PrecacheProgress, type PrecacheState, type Reason } from '@flotilla/api/ran';
import type { BlockingRef } from '../gates/blocking.ts';
import type { UpgradeFacts } from './facts.ts';
import { behind, byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';

/** What a cluster that is being cached is asked about. */
interface PrecacheQuestion {
  readonly facts: UpgradeFacts;
  readonly cluster: string;
  /** The hub's sentence on it. */
  readonly message: string | undefined;
  /** Why another upgrade has not ended. */
  readonly askUpgrade: (ref: BlockingRef) => Finding;
}

/** A state that is added to the machine and forgotten here does not compile. */
const judges: Readonly<Record<PrecacheState, (question: PrecacheQuestion) => Finding | undefined>> = {
  NotStarted: (question) =>
    say(
      question,
      'precache-line',
      'waits in line for pre-caching to begin',
      byItself('It begins when the hub has room for another cluster.'),
    ),
  PreparingToStart: (question) =>
    say(
      question,
      'precache-prepare',
      'is looked at for what an earlier attempt left there',
      byItself('It goes on when the agent has answered, or removed what was left.'),
    ),
  Starting: (question) =>
    say(
      question,
      'precache-start',
      'has been given the job, whose pod does not run yet',
      byItself('It goes on when the pod of Job pre-cache runs.'),
    ),
  Active: pull,
  Succeeded: () => undefined,
  PrecacheTimeout: fail,
  UnrecoverableError: fail,
};

/** Why a cluster is not cached; undefined when it is. */
export function precacheWait(state: PrecacheState, question: PrecacheQuestion): Finding | undefined {
  return judges[state](question);
}

const evidence = ({ facts, cluster }: PrecacheQuestion, field: string, value: unknown) =>
  upgradeEvidence(facts, `status.precaching.${field}[${cluster}]`, value);

/** The hub's own sentence wins over the state's. */
function say(question: PrecacheQuestion, cause: WaitCause, says: string, release: Release): Finding {
  const { cluster, message, facts } = question;
  if (message !== undefined) return explainMessage(question, message);
  const state = facts.upgrade.status?.precaching?.status?.[cluster] ?? 'NotStarted';
  return finding(cause, link(`${cluster} ${says}`, evidence(question, 'status', state)), release, { says });
}

/** How the hub names the upgrade that has a cluster. */
const HOLDER = /^waits for ClusterGroupUpgrade ([^\s,]+)/;

/** Reasons by which the hub's sentences on one cluster are known: each ends with its fix. */
const troubles = [
  ['ClusterDenied', 'cluster-denied'],
  ['AgentSilent', 'agent-silent'],
  ['ClusterUnavailable', 'cluster-unavailable'],
  ['PodMissing', 'precache-problem'],
  ['PodNotRunning', 'precache-problem'],
] as const satisfies readonly (readonly [Reason, WaitCause])[];

function explainMessage(question: PrecacheQuestion, message: string): Finding {
  const { cluster, askUpgrade } = question;
  const first = link(`${cluster}: ${message}`, evidence(question, 'messages', message));
  const holder = HOLDER.exec(message)?.[1];
  if (holder !== undefined) {
    const [namespace = '', name = ''] = holder.split('/');
    return behind(first, askUpgrade({ namespace, name }), {
      cause: 'precache-claim',
      says: `ClusterGroupUpgrade ${holder} to leave the cluster`,
    });
  }
  const known = troubles.find(([reason]) => message.includes(fixOf(reason).split('{')[0] ?? ''));
  const cause = known?.[1] ?? 'precache-problem';
  const fix = known
    ? fixOf(known[0], { cluster, namespace: 'openshift-talo-pre-cache' })
    : 'mend what the message names; it is tried again by itself';
  return finding(cause, first, bySomebody(capital(fix)), { says: message.replaceAll(cluster, '(cluster)') });
}

function pull(question: PrecacheQuestion): Finding {
  const { facts, cluster, message } = question;
  if (message !== undefined) return explainMessage(question, message);
  const progress = facts.upgrade.status?.precaching?.progress?.[cluster];
  if (!progress)
    return say(question, 'precache-pull', 'pulls; it has not reported how far it is', byItself('It ends when the puller is done.'));
  const { imagesDone, imagesTotal, bytesDone, bytesTotal } = progress;
  const says = `pulls: ${imagesDone} of ${imagesTotal} images, ${bytesDone} of ${bytesTotal} bytes`;
  const at = pullEndsAt(progress, facts.now);
  const release = byItself(
    at === undefined
      ? 'It ends when the bytes that are left are there; no rate is reported.'
      : 'It ends when the bytes that are left are there.',
    at,
  );
  return finding('precache-pull', link(`${cluster} ${says}`, evidence(question, 'progress', progress)), release, { says: 'their pull' });
}

/** When a pull ends at its present rate, milliseconds since the epoch. */
function pullEndsAt({ bytesDone, bytesTotal, bytesPerSecond }: PrecacheProgress, now: number): number | undefined {
  return bytesPerSecond > 0 ? now + (Math.max(bytesTotal - bytesDone, 0) / bytesPerSecond) * 1000 : undefined;
}

function fail(question: PrecacheQuestion): Finding {
  const { cluster, facts, message = 'without a sentence' } = question;
  const state = facts.upgrade.status?.precaching?.status?.[cluster];
  const first = link(`${cluster} failed to pre-cache (${state}): ${message}`, evidence(question, 'status', state));
  return finding('failed', first, bySomebody('Mend what the message names, then upgrade this cluster by another ClusterGroupUpgrade.'), {
    says: `pre-caching failed: ${message.replaceAll(cluster, '(cluster)')}`,
  });
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
