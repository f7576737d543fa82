import type { PayloadFile } from '@flotilla/release';

/** A release image's payload. */
export interface RetrievedPayload {
  readonly files: Iterable<PayloadFile> | AsyncIterable<PayloadFile>;
  /** Its signature was checked. */
  readonly verified: boolean;
  /** Why it was taken although it could not be verified; empty for no reason. */
  readonly acceptedRisks: string;
}

/** Where releases are taken from that are not the operator's own. */
export interface ReleaseSource {
  /** @throws UpdateError `ImageVerificationFailed` or `UpdatePayloadRetrievalFailed` */
  retrieve(
    release: { readonly version: string; readonly image: string; readonly force: boolean },
    signal: AbortSignal,
  ): Promise<RetrievedPayload>;
  /**
   * Has what taking a release needs at hand, so that it can be taken with no link.
   * @throws WaitingError for a release that nobody vouches for yet: nothing of it is downloaded; and what reading the image is refused for
   */
  prefetch(image: string, signal: AbortSignal): Promise<void>;
}
