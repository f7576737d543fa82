/** Why a cluster is not cached yet, by the state of its job. Pure. */
import type { Release, WaitCause } from '@flotilla/api/answers';
import { isFinalPrecacheState, type PrecacheProgress, type PrecacheState, SpokeName } from '@flotilla/api/ran';
import { bytes } from '@flotilla/api/units';
import { isRunning } from '../upgrade/stage.ts';
import { byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import { explainSentence } from './hub-sentences.ts';
import { heldWait, pausedWait, presence } from './presence.ts';
import type { ClusterQuestion } from './question.ts';

/** A state that is added to the machine and forgotten here does not compile. */
const judges: Readonly<Record<PrecacheState, (question: ClusterQuestion) => Finding | undefined>> = {
  NotStarted: (question) =>
    pausedWait(question) ??
    heldWait(question) ??
    say(
      question,
      'precache-line',
      { says: 'waits in line for pre-caching to begin', awaits: 'their turn to pre-cache' },
      byItself('It begins when the hub has room for another cluster.'),
    ),
  PreparingToStart: (question) =>
    presence(question) ??
    say(
      question,
      'precache-prepare',
      { says: 'is looked at for what an earlier attempt left there', awaits: 'a look for what an earlier attempt left there' },
      byItself('It goes on when the agent has answered, or removed what was left.'),
    ),
  Starting: (question) =>
    presence(question) ??
    say(
      question,
      'precache-start',
      { says: 'has been given the job, whose pod does not run yet', awaits: 'the pod of their job to run' },
      byItself('It goes on when the pod of Job pre-cache runs.'),
    ),
  Active: (question) => presence(question) ?? pull(question),
  Succeeded: () => undefined,
  PrecacheTimeout: fail,
  UnrecoverableError: fail,
};

/** Why a cluster is not cached; undefined when it is, or need not be any more. */
export function precacheWait(question: ClusterQuestion): Finding | undefined {
  const { upgrade } = question.facts;
  const state = upgrade.status?.precaching?.status?.[question.cluster];
  if (!state) return undefined;
  // In a rollout that runs, clusters that came after its start pull.
  const isOver = isRunning(upgrade) && (isFinalPrecacheState(state) || upgrade.status?.batchesAtStart === undefined);
  return isOver ? undefined : judges[state](question);
}

const precachingOf = ({ facts }: ClusterQuestion) => facts.upgrade.status?.precaching ?? {};
const messageOf = (question: ClusterQuestion): string | undefined => precachingOf(question).messages?.[question.cluster];
const evidence = ({ facts, cluster }: ClusterQuestion, field: string, value: unknown) =>
  upgradeEvidence(facts, `status.precaching.${field}[${cluster}]`, value);

/** Meaning of a state. */
interface Sentence {
  /** Follows the name of the cluster. */
  readonly says: string;
  /** Names what it and others wait for. */
  readonly awaits: string;
}

/** The hub's own sentence wins over the state's. */
function say(question: ClusterQuestion, cause: WaitCause, { says, awaits }: Sentence, release: Release): Finding {
  const { cluster } = question;
  const message = messageOf(question);
  if (message !== undefined) return told(question, message);
  const state = precachingOf(question).status?.[cluster] ?? 'NotStarted';
  return finding(cause, link(`${cluster} ${says}`, evidence(question, 'status', state)), release, { says: awaits });
}

function told(question: ClusterQuestion, message: string): Finding {
  const first = link(`${question.cluster}: ${message}`, evidence(question, 'messages', message));
  return explainSentence(question, { message, namespace: SpokeName.namespace, first });
}

function pull(question: ClusterQuestion): Finding {
  const { facts, cluster } = question;
  const message = messageOf(question);
  if (message !== undefined) return told(question, message);
  const progress = precachingOf(question).progress?.[cluster];
  if (!progress)
    return finding(
      'precache-pull',
      link(`${cluster} pulls; it has not reported how far it is`, evidence(question, 'status', 'Active')),
      byItself('It ends when the puller is done.'),
      { says: 'their pull' },
    );
  const { imagesDone, imagesTotal, bytesDone, bytesTotal } = progress;
  if (imagesTotal === 0)
    return finding(
      'precache-pull',
      link(`${cluster} asks its registries which images there are`, evidence(question, 'progress', progress)),
      byItself('It pulls when they have answered.'),
      { says: 'their registries to say which images there are' },
    );
  const says = `pulls: ${imagesDone} of ${imagesTotal} images, ${bytes(bytesDone)} of ${bytes(bytesTotal)}`;
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

function fail(question: ClusterQuestion): Finding {
  const { cluster } = question;
  const { message = 'without a sentence', state } = { message: messageOf(question), state: precachingOf(question).status?.[cluster] };
  const first = link(`${cluster} failed to pre-cache (${state}): ${message}`, evidence(question, 'status', state));
  return finding('failed', first, bySomebody('Mend what the message names, then try the cluster again (flotilla retry).'), {
    says: `pre-caching failed: ${message.replaceAll(cluster, '(cluster)')}`,
  });
}
