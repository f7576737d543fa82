import { errorMessage, FlotillaError } from '@flotilla/api';
import { saidText } from '../errors.ts';

/** What an error means for an update: only told, not a failure, one after a time, one at once. Unknown counts as one at once. */
export type UpdateEffect = 'Report' | 'None' | 'FailAfterInterval' | 'Fail';

/** What is waited for, as far as messages tell of it. */
export interface Awaited {
  readonly kind: string;
  /** What is there, of how many: `3 of 5 nodes are updated`. While it stays the same nothing has got on. */
  readonly how: string;
  /** It is stuck when nothing has got on for so long, milliseconds; default: it may take as long as it likes. */
  readonly limitMs?: number | undefined;
  /** Since when it stays the same, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
  readonly pod?: string | undefined;
}

/** The parts of an error that a ClusterVersion's conditions show. */
export interface UpdateErrorParts {
  readonly reason: string;
  readonly message: string;
  readonly effect?: UpdateEffect;
  /** Names of what it is about, such as ClusterOperators. */
  readonly names?: readonly string[];
  /** What is waited for, where somebody is told how far it is. */
  readonly awaited?: Awaited | undefined;
  /** What the object itself says, where the message has it too. */
  readonly said?: string | undefined;
  readonly cause?: unknown;
}

/** Why a payload is not applied yet. */
export class UpdateError extends FlotillaError {
  readonly reason: string;
  readonly effect: UpdateEffect | undefined;
  readonly names: readonly string[];
  readonly awaited: Awaited | undefined;
  readonly said: string | undefined;

  constructor({ reason, message, effect, names = [], awaited, said, cause }: UpdateErrorParts) {
    super('FLOTILLA_UPDATE', message, { cause });
    this.reason = reason;
    this.effect = effect;
    this.names = names;
    this.awaited = awaited;
    this.said = said;
  }
}

/** A node was left because its pass ended: no failure of what it applies. */
export class PassEndedError extends Error {
  constructor(why: string, { done, total }: { readonly done: number; readonly total: number }) {
    super(`update ${why} at ${done} of ${total}`);
  }
}

const causes: ReadonlyMap<string, readonly [reason: string, cause: string]> = new Map(
  (
    [
      [['NotFound', 'AlreadyExists'], 'UpdatePayloadResourceNotFound', 'resource may have been deleted'],
      [['Conflict'], 'UpdatePayloadResourceConflict', 'someone else is updating this resource'],
      [['Timeout', 'ServiceUnavailable', 'UnexpectedServerError'], 'UpdatePayloadClusterDown', 'the server is down or not responding'],
      [['InternalError'], 'UpdatePayloadClusterError', 'the server is reporting an internal error'],
      [['Invalid'], 'UpdatePayloadResourceInvalid', 'the object is invalid, possibly due to local cluster configuration'],
      [['Unauthorized'], 'UpdatePayloadClusterUnauthorized', 'could not authenticate to the server'],
      [['Forbidden'], 'UpdatePayloadResourceForbidden', 'the server has forbidden updates to this resource'],
      [['ServerTimeout', 'TooManyRequests'], 'UpdatePayloadClusterOverloaded', 'the server is overloaded and is not accepting updates'],
      [['NoMatch'], 'UpdatePayloadResourceTypeMissing', 'the server does not recognize this resource, check extension API servers'],
    ] as const
  ).flatMap(([kinds, reason, cause]) => kinds.map((kind) => [kind, [reason, cause]] as const)),
);

interface Refusal {
  /** `reason` of the API server's Status, or `NoMatch` where it does not know the kind. */
  readonly reason?: string | undefined;
  /** What the server said, or why no answer came; default: what the cause says. */
  readonly said?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The error of a task from what its request ended with: the reference's text, and what the server said behind it. What is an `UpdateError`
 * already stays.
 * @param task the task as `textOfTask` names it
 */
export function updateErrorOf(task: string, { reason: statusReason = '', cause, said = messageOf(cause) }: Refusal): UpdateError {
  if (cause instanceof UpdateError) return cause;
  const [reason, text] = causes.get(statusReason) ?? ['UpdatePayloadFailed', undefined];
  return new UpdateError({
    reason,
    message: [`Could not update ${task}`, text, saidText(said)].filter((part) => part !== undefined && part !== '').join(': '),
    cause,
  });
}

const messageOf = (cause: unknown): string => (cause === undefined ? '' : errorMessage(cause));
