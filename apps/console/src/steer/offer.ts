import type { ActionRequest } from '@flotilla/api/answers';

type Action = ActionRequest['action'];

/** A change that makes sense now. */
export interface Offer {
  readonly action: Action | 'window';
  readonly of: string;
  /** Its button says so; default: the action's own word. */
  readonly label?: string;
  /** Spokes that it is for; all that failed when absent. */
  readonly clusters?: readonly string[];
  /** The sentence on the right that is missing, or why it makes no sense now; null where it may be made. */
  readonly lack: string | null;
}
