/** What the hub's sentences on a job of one cluster mean: by what each is known, and what releases it. Pure. */
import type { Release, WaitCause } from '@flotilla/api/answers';
import { fixOf, type Reason } from '@flotilla/api/ran';
import { behind, byItself, bySomebody, type Finding, finding, type link } from './finding.ts';
import type { ClusterQuestion } from './question.ts';

/** Meaning of one kind of sentence. */
interface Sentence {
  readonly has: RegExp;
  readonly cause: WaitCause;
  readonly release: (names: { readonly cluster: string; readonly namespace: string }) => Release;
  /** What others with the same are counted under; default the sentence itself. */
  readonly says?: string;
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A sentence that ends with the fix of its reason. */
const byReason = (reason: Reason, cause: WaitCause, says?: string): Sentence => ({
  has: new RegExp(escaped(fixOf(reason).split('{')[0] ?? ''), 'u'),
  cause,
  release: (names) => bySomebody(capital(fixOf(reason, names))),
  ...(says !== undefined && { says }),
});

/** In the order in which they are tried. */
const SENTENCES: readonly Sentence[] = [
  byReason('ClusterHeld', 'held', 'somebody to lift the hold of the cluster'),
  byReason('Paused', 'paused', 'the pause to end'),
  byReason('ClusterDenied', 'cluster-denied', 'the hub to let the cluster in'),
  byReason('ClusterUnavailable', 'cluster-unavailable', 'a cluster that is not available'),
  byReason('AgentSilent', 'agent-silent', 'an agent that is silent'),
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

/** Who has the cluster, as the hub names it. */
const HOLDER = /^waits for ClusterGroupUpgrade ([^\s,]+)/;

/** The finding of a sentence of the hub. @param first the sentence as a link */
export function explainSentence(
  { cluster, askUpgrade }: Pick<ClusterQuestion, 'cluster' | 'askUpgrade'>,
  { message, namespace, first }: { readonly message: string; readonly namespace: string; readonly first: ReturnType<typeof link> },
): Finding {
  const holder = HOLDER.exec(message)?.[1];
  if (holder?.includes('/')) {
    const [of = '', name = ''] = holder.split('/');
    const own = { cause: 'precache-claim', says: `ClusterGroupUpgrade ${holder} to leave the cluster` } as const;
    return behind(first, askUpgrade({ namespace: of, name }, cluster), own);
  }
  const known = SENTENCES.find(({ has }) => has.test(message));
  const release = known?.release({ cluster, namespace }) ?? bySomebody('Mend what the message names; it is tried again by itself.');
  return finding(known?.cause ?? 'precache-problem', known && UNKNOWN.has(known.cause) ? { ...first, isUnknown: true } : first, release, {
    says: known?.says ?? message.replaceAll(cluster, '(cluster)'),
  });
}

/** Of these clusters nothing newer is known. */
const UNKNOWN: ReadonlySet<WaitCause> = new Set(['cluster-unavailable', 'agent-silent']);
