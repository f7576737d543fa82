import { errorMessage, FlotillaError } from '@flotilla/api';
import { saidText } from '../errors.ts';

/** Effect of an error on an update: only told, not a failure, one after a time, one at once. Unknown counts as one at once. */
export type UpdateEffect = 'Report' | 'None' | 'FailAfterInterval' | 'Fail';

/** Description of an awaited object, for messages. */
export interface Awaited {
  readonly kind: string;
  /** Progress of the object: `3 of 5 nodes are updated`. While it stays the same nothing has got on. */
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
  /** The awaited object, where messages tell its progress. */
  readonly awaited?: Awaited | undefined;
  /** Message of the object itself, where the error repeats it. */
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
  /** Message of the server, or the reason why no answer came; default: the message of the cause. */
  readonly said?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Makes the error of a task from the end of its request: the reference's text, and the server's message behind it. A cause that is an
 * `UpdateError` already stays.
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
