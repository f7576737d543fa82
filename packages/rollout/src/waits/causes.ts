/** Texts and certainty by the cause of a wait: what is the same whoever waits. */
import type { WaitCause } from '@flotilla/api/answers';

/** Everything about a cause that no single wait says. */
interface CauseText {
  /** Names in the words of many what they wait for; default: the sentence of the wait. */
  readonly awaits?: string;
  /** Says of a wait without a fix how it ends; default: by itself. */
  readonly ends?: string;
  /** Nothing newer is known of the cluster. */
  readonly isUnknown?: true;
}

/** By cause; one that is absent has nothing of its own. */
export const CAUSES: Readonly<Partial<Record<WaitCause, CauseText>>> = {
  paused: { awaits: 'the pause to end' },
  'gate-window': {
    awaits: 'the window to open',
    ends: 'It opens at that time; moving or removing the annotations opens it earlier.',
  },
  'gate-blocking': { ends: 'It goes on when the blocking upgrade has completed.' },
};
