import type { ActionRequest } from '@flotilla/api/answers';

/** A change that makes sense now. */
export interface Offer {
  readonly action: ActionRequest['action'] | 'window';
  readonly of: string;
  /** Its button says so; default: the action's own word. */
  readonly label?: string;
  /** Spokes that it is for; all that failed when absent. */
  readonly clusters?: readonly string[];
  /** The sentence on the right that is missing, or why it makes no sense now; null where it may be made. */
  readonly lack: string | null;
}

/** Words of each change. */
export const changeWords: Readonly<Record<Offer['action'], string>> = {
  pause: 'Pause',
  resume: 'Resume',
  hold: 'Hold',
  unhold: 'Unhold',
  retry: 'Retry',
  window: 'Window',
  'window-set': 'Set window',
  'window-clear': 'Clear window',
};
