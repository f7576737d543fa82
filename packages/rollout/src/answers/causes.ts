/** Texts of the causes of waits, and how bad each is: what is the same whoever waits. */
import type { WaitCause } from '@flotilla/api/answers';

/** Everything about a cause that no single wait says. */
interface CauseText {
  /** Names for many clusters what they wait for; default: the sentence of the wait. */
  readonly awaits?: string;
  /** Says of a wait without a fix how it ends. */
  readonly ends?: string;
  /** Nothing newer is known of the cluster. */
  readonly isUnknown?: true;
}

/** By cause; one that is absent has nothing of its own. */
export const CAUSES: Readonly<Partial<Record<WaitCause, CauseText>>> = {
  paused: { awaits: 'the pause to end' },
  held: { awaits: 'somebody to lift the hold of the cluster' },
  'cluster-hours': {
    awaits: 'the hours of the cluster',
    ends: 'It begins at that time; moving or removing the annotations of the ManagedCluster lets it begin earlier.',
  },
  'cluster-missing': { awaits: 'a ManagedCluster that does not exist' },
  'cluster-denied': { awaits: 'the hub to let the cluster in' },
  'cluster-unavailable': { awaits: 'a cluster that is not available', isUnknown: true },
  'agent-silent': { awaits: 'an agent that is silent', isUnknown: true },
  'gate-window': {
    awaits: 'the window to open',
    ends: 'It opens at that time; moving or removing the annotations opens it earlier.',
  },
  'gate-blocking': { ends: 'It goes on when the blocking upgrade has completed.' },
  'gate-backup': { awaits: 'their backup', ends: 'It goes on when the pod of the backup runs, and when it has ended.' },
  'precache-line': { awaits: 'their turn to pre-cache', ends: 'It begins when the hub has room for another cluster.' },
  'precache-prepare': {
    awaits: 'a look for what an earlier attempt left there',
    ends: 'It goes on when the agent has answered, or removed what was left; a namespace ends when what is in it has ended.',
  },
  'precache-start': {
    awaits: 'the pod of their job to run',
    ends: 'It goes on when the pod of the job runs: kubectl get pods,events in its namespace on the cluster shows it.',
  },
  'precache-pull': { awaits: 'their pull', ends: 'It ends when the bytes that are left are there.' },
  limit: { awaits: 'a place under the limits of the fleet', ends: 'It begins when it has a place: flotilla limits shows who has them.' },
  wave: { awaits: 'more clusters that are ready', ends: 'It begins when it is full, or when its patience is over.' },
  batch: { ends: 'It goes on with the next pass of the hub.' },
  edits: { ends: 'It goes on when the hub has seen the labels and annotations on the ManagedCluster.' },
  leave: { ends: 'It goes on with the next pass of the hub.' },
  policy: { ends: 'It goes on when the policy is compliant, or when the batch times out.' },
  refused: { ends: 'It goes on by itself.' },
  soak: { ends: 'It goes on when the policy has been compliant for its soak time.' },
  work: { ends: 'It goes on when the work reports what is expected, or when the batch times out.' },
};

/** Causes of which somebody else has to free the clusters; those of nobody's making come last. */
const BY_SOMEBODY: ReadonlySet<WaitCause> = new Set([
  'held',
  'refused',
  'paused',
  'placement',
  'precache-problem',
  'cluster-missing',
  'cluster-denied',
]);

/** Ranks a cause by how bad it is: failed, then a cluster of which nothing is heard, then what is blocked, then what goes on. Less is worse. */
export function badnessOf(cause: WaitCause): number {
  if (cause === 'failed') return 0;
  if (CAUSES[cause]?.isUnknown) return 1;
  return BY_SOMEBODY.has(cause) ? 2 : 3;
}
