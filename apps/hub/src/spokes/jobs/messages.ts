/** Sentences of the leader on a spoke, for its upgrade's status. Pure. */
import { readWait, TROUBLE_PREFIX, waitMessage } from '@flotilla/rollout';

/** Says why a spoke whose job was stopped does not begin again yet. @param paused message of the pause; undefined once it has ended */
export function describeStop(paused: string | undefined, available: boolean): string {
  const why = readWait(paused ?? '') ?? { cause: 'precache-prepare', says: 'begins again when its stopped job is removed' };
  const state = available ? 'being stopped' : 'cannot be stopped while the cluster is not available';
  return waitMessage({ ...why, says: `${why.says} (${state})` });
}

/** Keeps the server's message without the request's path: messages in a status are short, and the path helps no reader. */
export const troubleOf = (message: string): string =>
  TROUBLE_PREFIX + message.slice(0, 1024).replace(/^[A-Z]{3,6} \/[^ ]{1,600}: (\d{3}: )?/, '');
