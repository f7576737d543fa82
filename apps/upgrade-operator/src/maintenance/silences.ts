import { errorMessage } from '@flotilla/api';
import { OPERATOR_NAME } from '@flotilla/api/managed';
import type { Clock } from '@flotilla/runtime';
import type { Alertmanager, Matcher, Silence } from '../clients/alertmanager.ts';
import { ServiceError } from '../clients/errors.ts';
import type { Silences } from '../ports.ts';
import { comments, criticalMatchers, DEFAULT_MATCHERS, isControlPlane, isWorkers } from './silence-texts.ts';

/** Silences in Alertmanager. What is there is found by its comment and who made it, so a restart makes nothing twice. */
export function createSilences(alertmanager: Alertmanager, clock: Clock): Silences {
  const ours = async (signal: AbortSignal) => (await alertmanager.silences(signal)).filter(({ createdBy }) => createdBy === OPERATOR_NAME);

  async function ensure(known: readonly Silence[], silence: Wanted, signal: AbortSignal): Promise<void> {
    // One that has ended counts: it was removed, or its time was over.
    if (known.some(({ comment }) => comment === silence.comment)) return;
    await alertmanager.put({ ...toSilence(silence, clock.now()) }, signal);
  }

  async function expire(which: (silence: Silence) => boolean, signal: AbortSignal): Promise<void> {
    const standing = (await ours(signal)).filter((silence) => silence.status.state !== 'expired' && which(silence));
    const results = await Promise.allSettled(standing.map(({ id }) => alertmanager.expire(id, signal)));
    throwAll(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
  }

  return {
    async startControlPlane({ version, endsAt, criticalAlerts }, signal) {
      const known = await ours(signal);
      await ensure(known, { comment: comments.controlPlane(version), matchers: DEFAULT_MATCHERS, endsAt }, signal);
      if (criticalAlerts.length === 0) return;
      await ensure(known, { comment: comments.criticals(version), matchers: criticalMatchers(criticalAlerts), endsAt }, signal);
    },
    endControlPlane: (signal) => expire(isControlPlane, signal),
    async setWorkers({ version, endsAt, remainingNodes }, signal) {
      const comment = comments.workers(version, remainingNodes);
      const standing = (await ours(signal)).filter(
        ({ status, comment: text }) => status.state === 'active' && text.startsWith(comments.workersOf(version)),
      );
      const exact = standing.find((silence) => silence.comment === comment);
      const kept = exact ?? standing[0];
      // The one that stands is changed, so that there is no moment without any.
      if (!exact)
        await alertmanager.put(
          {
            ...toSilence({ comment, matchers: DEFAULT_MATCHERS, endsAt }, clock.now()),
            ...(kept && { id: kept.id, startsAt: kept.startsAt }),
          },
          signal,
        );
      const others = standing.filter((silence) => silence !== kept);
      const results = await Promise.allSettled(others.map(({ id }) => alertmanager.expire(id, signal)));
      throwAll(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
    },
    endWorkers: (signal) => expire(isWorkers, signal),
    isActive: async (signal) => (await ours(signal)).some(({ status }) => status.state === 'active'),
  };
}

interface Wanted {
  readonly comment: string;
  readonly matchers: readonly Matcher[];
  readonly endsAt: number;
}

const toSilence = ({ comment, matchers, endsAt }: Wanted, nowMs: number) => ({
  comment,
  matchers,
  createdBy: OPERATOR_NAME,
  startsAt: new Date(nowMs).toISOString(),
  endsAt: new Date(endsAt).toISOString(),
});

/** All failures in one message, as the reference words several. */
function throwAll(errors: readonly unknown[]): void {
  const [first] = errors;
  if (first === undefined) return;
  const lines = errors.map((error) => `\t* ${errorMessage(error)}`).join('\n');
  const message = `${errors.length} ${errors.length === 1 ? 'error' : 'errors'} occurred:\n${lines}\n\n`;
  if (!(first instanceof ServiceError)) throw first;
  throw new ServiceError(first.code, message, { status: first.status, words: first.words, cause: first });
}
