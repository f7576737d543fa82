import type { PayloadFile, WantedRelease } from '@flotilla/release';

/** Files of a release. */
export type ReleaseFiles = Iterable<PayloadFile> | AsyncIterable<PayloadFile>;

/** A release image's payload. */
export interface RetrievedPayload {
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
