import { asksToWait, isDenied, isTransient, RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { CorruptBlobError, NoSpaceError, StoreError } from '../errors.ts';

/** Ways to go on with an image whose blobs we could not fetch: once more, by the runtime's own pull, or not at all. */
type NextWay = 'again' | 'runtime' | 'runtime after a wait' | 'stop';

/** Failures in a row, without a byte between them, after which the runtime tries: it may know other mirrors. */
const MAX_FAILURES = 3;
/** One less for a registry that asks for a wait: the runtime, which may ask the same one, tries after a wait that counts as the next try. */
const MAX_LIMITED = MAX_FAILURES - 1;
/** Wrong bytes come from the same place again; a second try is for a mirror that was cut. */
const MAX_CORRUPT = 2;

/** True for a failure that passes: the link, the registry or the store is away for a while. The node that meets it goes on later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof CorruptBlobError) return false;
  return error instanceof StoreError ? error.transient : isTransient(error) && !isDenied(error);
}

/** State of an image whose blobs could not be fetched. */
interface Failing {
  /** Failures in a row. */
  readonly failures: number;
  readonly isCapped: boolean;
  /** Other nodes need the blobs too: the runtime's own pull would cross the link once more for each. */
  readonly isShared: boolean;
}

/**
 * Decides after a failure, which is the n-th in a row. A broken link is waited for under a cap, because the runtime's own pull would not keep the cap.
 */
export function nextWay(error: unknown, { failures, isCapped, isShared }: Failing): NextWay {
  if (error instanceof NoSpaceError) return 'stop';
  if (isShared && isPassing(error)) return 'again';
  if (error instanceof CorruptBlobError) return failures < MAX_CORRUPT ? 'again' : 'runtime';
  if (error instanceof StoreError) return error.transient && failures < MAX_FAILURES ? 'again' : 'runtime';
  if (!isCapped && asksToWait(error)) return failures < MAX_LIMITED ? 'again' : 'runtime after a wait';
  const isLeft = failures >= MAX_FAILURES;
  if (isOther(error)) return isLeft ? 'runtime' : 'again';
  return isTransient(error) && (isCapped || !isLeft) ? 'again' : 'runtime';
}

/** Other content than was asked for: the runtime would take a log-in page for the first bytes of a layer. */
const isOther = (error: unknown): boolean => error instanceof RegistryError && error.code === RegistryErrorCode.badResponse;
