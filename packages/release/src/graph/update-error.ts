import { FlotillaError } from '@flotilla/api';

/** What an error means for an update: only told, not a failure, one after a time, one at once. Unknown counts as one at once. */
export type UpdateEffect = 'Report' | 'None' | 'FailAfterInterval' | 'Fail';

/** The parts of an error that a ClusterVersion's conditions show. */
export interface UpdateErrorParts {
  /** Reason of the condition. */
  readonly reason: string;
  readonly message: string;
  readonly effect?: UpdateEffect;
  /** Names of what it is about, such as ClusterOperators. */
  readonly names?: readonly string[];
  readonly cause?: unknown;
}

/** Why a payload is not applied yet. */
export class UpdateError extends FlotillaError {
  readonly reason: string;
  readonly effect: UpdateEffect | undefined;
  readonly names: readonly string[];

  constructor({ reason, message, effect, names = [], cause }: UpdateErrorParts) {
    super('FLOTILLA_UPDATE', message, { cause });
    this.reason = reason;
    this.effect = effect;
    this.names = names;
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

/**
 * The error of a task from what its request ended with. What is an `UpdateError` already stays.
 * @param task the task as `textOfTask` names it
 * @param statusReason `reason` of the API server's Status, or `NoMatch` where it does not know the kind
 */
export function updateErrorOf(task: string, cause: unknown, statusReason?: string): UpdateError {
  if (cause instanceof UpdateError) return cause;
  const [reason, text] = causes.get(statusReason ?? '') ?? ['UpdatePayloadFailed', undefined];
  return new UpdateError({ reason, message: `Could not update ${task}${text === undefined ? '' : `: ${text}`}`, cause });
}
