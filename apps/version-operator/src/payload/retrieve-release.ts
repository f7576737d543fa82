import { errorMessage } from '@flotilla/api';
import { Deadline } from '@flotilla/http';
import { type PayloadFile, UpdateError, type WantedRelease } from '@flotilla/release';
import { digestOfPullSpec } from '@flotilla/release/signatures';
import type { Clock } from '@flotilla/runtime';

/** Files of a release. */
export type ReleaseFiles = Iterable<PayloadFile> | AsyncIterable<PayloadFile>;

/** A release image's payload. */
interface RetrievedPayload {
  readonly files: ReleaseFiles;
  readonly verified: boolean;
  /** Reason for taking it although it could not be verified; empty for no reason. */
  readonly acceptedRisks: string;
}

/** Source of releases that are not the operator's own. */
export interface ReleaseSource {
  /** @throws UpdateError `ImageVerificationFailed` or `UpdatePayloadRetrievalFailed` */
  retrieve(release: WantedRelease, signal: AbortSignal): Promise<RetrievedPayload>;
  /**
   * Has what taking a release needs at hand, so that it can be taken with no link.
   * @throws WaitingError for a release that nobody vouches for yet: nothing of it is downloaded; and what reading the image is refused for
   */
  prefetch(image: string, signal: AbortSignal): Promise<void>;
}

/** Verification and download of a release. */
export interface ReleaseAccess {
  /** Rejects when not every keyring of the release before has signed; hands back what did. */
  readonly verify: (digest: string, signal: AbortSignal) => Promise<readonly Uint8Array[]>;
  /** Files of a release image, from a cache or a registry. */
  readonly fetch: (image: string, signal: AbortSignal) => Promise<readonly PayloadFile[]>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface RetrievedRelease extends RetrievedPayload {
  /** Signatures that vouch for it, to be kept in the cluster. */
  readonly signatures: readonly Uint8Array[];
}

/** For verification and download together, milliseconds; verification may take half of it. */
const RETRIEVAL_MS = 4 * 60_000;

/**
 * Verifies a release and gets its files (spec/cvo 1.8).
 * @throws UpdateError `ImageVerificationFailed` or `UpdatePayloadRetrievalFailed`
 */
export async function retrieveRelease(request: WantedRelease, access: ReleaseAccess): Promise<RetrievedRelease> {
  const { image } = request;
  if (image === '') throw notRetrieved('no payload image has been specified and the contents of the payload cannot be retrieved');
  const { clock } = access;
  using whole = new Deadline(RETRIEVAL_MS, access.signal, { clock, reason: new Error('it took longer than 4 minutes') });
  const verdict = await verify(request, { ...access, signal: whole.signal });
  try {
    return { files: await access.fetch(image, whole.signal), ...verdict };
  } catch (cause) {
    throw notRetrieved(errorMessage(whole.signal.aborted ? whole.signal.reason : cause), cause);
  }
}

const notRetrieved = (why: string, cause?: unknown): UpdateError =>
  new UpdateError({ reason: 'UpdatePayloadRetrievalFailed', message: `Unable to download and prepare the update: ${why}`, cause });

async function verify(
  { image, version, force }: WantedRelease,
  { verify: verifyDigest, clock, signal }: ReleaseAccess,
): Promise<Pick<RetrievedRelease, 'verified' | 'acceptedRisks' | 'signatures'>> {
  using half = new Deadline(RETRIEVAL_MS / 2, signal, { clock, reason: new Error('verification took longer than 2 minutes') });
  try {
    const signatures = await verifyDigest(digestOfPullSpec(image), half.signal);
    return { verified: true, acceptedRisks: '', signatures };
  } catch (cause) {
    const why = errorMessage(cause);
    if (!force) throw new UpdateError({ reason: 'ImageVerificationFailed', message: `The update cannot be verified: ${why}`, cause });
    const acceptedRisks = `Target release version="${version}" image="${image}" cannot be verified, but continuing anyway because the update was forced: ${why}`;
    return { verified: false, acceptedRisks, signatures: [] };
  }
}
