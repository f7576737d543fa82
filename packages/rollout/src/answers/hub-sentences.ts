/** Meanings of the hub's sentences on a job of one cluster: pattern, cause and release of each. Pure. */
import type { Release, WaitCause, WhyLink } from '@flotilla/api/answers';
import { fixOf, type Reason } from '@flotilla/api/ran';
import { behind, byItself, bySomebody, type Finding, finding } from './finding.ts';
import { presence } from './presence.ts';
import type { ClusterQuestion } from './question.ts';

/** Meaning of one kind of sentence. */
interface Sentence {
  readonly has: RegExp;
  readonly cause: WaitCause;
  readonly release: (names: { readonly cluster: string; readonly namespace: string }) => Release;
  /** Text under which such waits are counted together; default the sentence itself, with the cluster's name masked. */
  readonly says?: string;
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A sentence that carries the fix of its reason. @param has what it is known by where a short status may have cut the fix off */
const byReason = (reason: Reason, cause: WaitCause, { says, has }: { readonly says?: string; readonly has?: RegExp } = {}): Sentence => ({
  has: has ?? new RegExp(escaped(fixOf(reason)).replaceAll(/\\\{\w+\\\}/g, String.raw`\S+`), 'u'),
  cause,
  release: (names) => bySomebody(capital(fixOf(reason, names))),
  ...(says !== undefined && { says }),
});

/** In the order in which they are tried. */
const SENTENCES: readonly Sentence[] = [
  byReason('ClusterHeld', 'held', { says: 'somebody to lift the hold of the cluster' }),
  byReason('Paused', 'paused', { says: 'the pause to end' }),
  byReason('InvalidPause', 'paused', { says: 'the pause to end' }),
  byReason('ClusterDenied', 'cluster-denied', { says: 'the hub to let the cluster in' }),
  byReason('ClusterUnavailable', 'cluster-unavailable', { says: 'a cluster that is not available', has: /^the cluster is not available/ }),
  byReason('AgentSilent', 'agent-silent', { says: 'an agent that is silent', has: /^no word from the agent of / }),
  byReason('PodNotRunning', 'precache-problem'),
  byReason('PodMissing', 'precache-problem'),
  {
    has: /^removing what an earlier attempt left on the cluster$/,
    cause: 'precache-prepare',
    release: () => byItself('It goes on when the agent has removed it; a namespace ends when what is in it has ended.'),
  },
  {
    has: /^the spec has changed: starting over$/,
    cause: 'precache-prepare',
    release: () => byItself('It goes on when what the former spec left there is removed.'),
  },
  {
    has: /has no running pod yet$/,
    cause: 'precache-start',
    release: ({ namespace }) => byItself(`It goes on when the pod runs: kubectl -n ${namespace} get pods,events on the cluster shows it.`),
  },
  {
    has: /^cannot see /,
    cause: 'precache-problem',
    release: ({ cluster }) =>
      bySomebody(`See whether the API server of ${cluster} answers its agent, and whether the agent may read what is named.`),
  },
];

/** Upgrade that has the cluster, as the hub names it. */
const HOLDER = /^waits for ClusterGroupUpgrade ([^\s,]+)/;

const LEFT_BEHIND = /which has ended and could not yet remove/;

/** A sentence of the hub, and where it stands. */
interface Said {
  readonly message: string;
  /** Namespace of the job on the cluster. */
  readonly namespace: string;
  readonly first: WhyLink;
}

/** The finding of a sentence of the hub. */
export function explainSentence(question: ClusterQuestion, { message, namespace, first }: Said): Finding {
  const { cluster } = question;
  const holder = HOLDER.exec(message)?.[1];
  if (holder?.includes('/')) return claimed(question, { holder, first, isEnded: LEFT_BEHIND.test(message) });
  const known = SENTENCES.find(({ has }) => has.test(message));
  const release = known?.release({ cluster, namespace }) ?? bySomebody('Mend what the message names; it is tried again by itself.');
  return finding(known?.cause ?? 'precache-problem', known && UNKNOWN.has(known.cause) ? { ...first, isUnknown: true } : first, release, {
    says: known?.says ?? message.replaceAll(cluster, '(cluster)'),
  });
}

/** One that has ended is no wait: the cluster has to let go of what it left. */
function claimed(
  question: ClusterQuestion,
  { holder, first, isEnded }: { readonly holder: string; readonly first: WhyLink; readonly isEnded: boolean },
): Finding {
  const { cluster, askUpgrade } = question;
  const [namespace = '', name = ''] = holder.split('/');
  const own = { cause: 'precache-claim', says: `ClusterGroupUpgrade ${holder} to leave the cluster` } as const;
  if (!isEnded) return behind(first, askUpgrade({ namespace, name }, cluster), own);
  const away = presence(question);
  if (away) return behind(first, away, own);
  return finding(
    'precache-claim',
    first,
    bySomebody(`It goes on when the agent of ${cluster} has removed it: ${fixOf('ClusterUnavailable', { cluster })}.`),
    own,
  );
}

/** Nothing newer is known of clusters with these causes. */
const UNKNOWN: ReadonlySet<WaitCause> = new Set(['cluster-unavailable', 'agent-silent']);
