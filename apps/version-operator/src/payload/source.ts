import { type PayloadFile, UpdateError } from '@flotilla/release';

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
}

/** For an operator that was given one payload and no way to others. */
export const noOtherReleases: ReleaseSource = {
  retrieve: ({ image }) =>
    Promise.reject(
      new UpdateError({
        reason: 'UpdatePayloadRetrievalFailed',
        message: `Unable to download and prepare the update: only the payload given at start is at hand, not ${image}; start the operator with that payload`,
      }),
    ),
};
