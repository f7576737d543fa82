import { summaryForReason } from '../graph/error-summary.ts';
import type { UpdateError } from '../graph/update-error.ts';
import type { Verdict } from './conditions.ts';
import type { FailureReading } from './failure.ts';

/** Progress of applying a release, for the Progressing condition. */
export interface Progress {
  /** Version of the release, else its image. */
  readonly release: string;
  readonly reconciling: boolean;
  /** The spec has fields that are wrong. */
  readonly isInvalid: boolean;
  readonly done: number;
  readonly total: number;
  readonly failure?: { readonly error: UpdateError; readonly reading: FailureReading } | undefined;
}

/** Version of a release, else its image: how texts name it. */
export const nameOfRelease = ({ version, image }: { readonly version: string; readonly image: string }): string =>
  version || image || '<unknown>';

const progressing = (status: Verdict['status'], reason: string, message: string): Verdict => ({
  type: 'Progressing',
  status,
  reason,
  message,
});

/** Says how far a release is applied, and what is waited for (spec/cvo 5.4). */
export function progressOf(progress: Progress): Verdict {
  const { failure, release, reconciling, isInvalid } = progress;
  if (failure && !failure.reading.isWait) return stopped(progress, failure);
  if (reconciling) {
    return isInvalid
      ? progressing('False', 'InvalidClusterVersion', `Stopped at ${release}: the cluster version is invalid`)
      : progressing('False', '', `Cluster version is ${release}`);
  }
  if (isInvalid) return progressing('True', 'InvalidClusterVersion', `Reconciling ${release}: the cluster version is invalid`);
  const { reason = '' } = failure?.reading ?? {};
  return progressing('True', reason, working(progress));
}

function stopped({ release, reconciling }: Progress, { error, reading }: NonNullable<Progress['failure']>): Verdict {
  const text = reading.text || summaryOf(error);
  return reconciling
    ? progressing('False', reading.reason, `Error while reconciling ${release}: ${text}`)
    : progressing('True', reading.reason, `Unable to apply ${release}: ${text}`);
}

function working({ release, done, total, failure }: Progress): string {
  const percent = Math.floor((100 * done) / total);
  const counted = done > 0 && total > 0 ? [`${done} of ${total} done (${percent}% complete)`] : [];
  const waited = failure ? [failure.reading.text || summaryOf(failure.error)] : [];
  const parts = [...counted, ...waited];
  return `Working towards ${release}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}

/** An error without a reason tells its text in the Failing condition alone. */
const summaryOf = ({ reason, names }: UpdateError): string =>
  reason === '' ? 'an error occurred' : summaryForReason(reason, names.length === 1 ? names[0] : '');
