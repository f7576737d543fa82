import { errorMessage } from '@flotilla/api';
import { OPERATOR_NAME } from '@flotilla/api/managed';
import { ServiceError } from '@flotilla/http';
import type { Clock } from '@flotilla/runtime';
import type { Alertmanager, Matcher, Silence } from '../clients/alertmanager.ts';
import type { Silences } from '../ports.ts';

/** Ours and Alertmanager's clock may be apart by so much; a window that ends so much earlier than is wanted is long enough. */
const SLACK_MS = 5 * 60_000;

/** Silences in Alertmanager. Existing ones are found by their comment and creator, so a restart makes nothing twice. */
export function createSilences(alertmanager: Alertmanager, clock: Clock): Silences {
  const ours = async (signal: AbortSignal) => (await alertmanager.silences(signal)).filter(({ createdBy }) => createdBy === OPERATOR_NAME);

  /** One that an earlier attempt left is made as long as this one needs it. */
  async function ensure(known: readonly Silence[], wanted: Wanted, signal: AbortSignal): Promise<void> {
    const old = known.find((silence) => isStanding(silence) && silence.comment === wanted.comment);
    if (old && Date.parse(old.endsAt) + SLACK_MS >= wanted.endsAt) return;
    await alertmanager.put({ ...toSilence(wanted, clock.now()), ...(old && { id: old.id, startsAt: old.startsAt }) }, signal);
  }

  async function expire(silences: readonly Silence[], signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(silences.filter(isStanding).map(({ id }) => alertmanager.expire(id, signal)));
    throwAll(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
  }

  return {
    async startControlPlane({ version, endsAt, criticalAlerts }, signal) {
      const known = await ours(signal);
      await ensure(known, { comment: comments.controlPlane(version), matchers: DEFAULT_MATCHERS, endsAt }, signal);
      if (criticalAlerts.length === 0) return;
      await ensure(known, { comment: comments.criticals(version), matchers: criticalMatchers(criticalAlerts), endsAt }, signal);
    },
    async controlPlane(signal) {
      const found = (await ours(signal)).filter(isStanding).map((silence) => ({ version: controlPlaneVersion(silence), ...silence }));
      for (const { version, startsAt } of found) if (version !== undefined) return { version, startsAt };
      return undefined;
    },
    endControlPlane: async (signal) => expire((await ours(signal)).filter(isControlPlane), signal),
    async setWorkers({ version, endsAt, remainingNodes, since }, signal) {
      const comment = comments.workers(version, remainingNodes);
      const known = (await ours(signal)).filter((silence) => silence.comment.startsWith(comments.workersOf(version)));
      const exact = known.filter((silence) => silence.comment === comment);
      const standing = exact.find(isStanding);
      // One that has run out was had: what goes on without it is late.
      if (!standing && exact.some((silence) => Date.parse(silence.endsAt) >= since)) return;
      if (!standing) await alertmanager.put(toSilence({ comment, matchers: DEFAULT_MATCHERS, endsAt }, clock.now()), signal);
      // Only then the others go, so that there is no moment without any.
      await expire(
        known.filter((silence) => silence !== standing),
        signal,
      );
    },
    endWorkers: async (signal) => expire((await ours(signal)).filter(isWorkers), signal),
    isStanding: async (signal) => (await ours(signal)).some(isStanding),
  };
}

/** In force, or about to be: where our clock is far ahead, one that begins now is pending for a while. */
const isStanding = ({ status }: Silence): boolean => status.state !== 'expired';

interface Wanted {
  readonly comment: string;
  readonly matchers: readonly Matcher[];
  readonly endsAt: number;
}

const toSilence = ({ comment, matchers, endsAt }: Wanted, nowMs: number) => ({
  comment,
  matchers,
  createdBy: OPERATOR_NAME,
  // A silence that starts in Alertmanager's past begins at once: nothing waits for a clock that is behind ours.
  startsAt: new Date(nowMs - SLACK_MS).toISOString(),
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

/** Default matchers of an upgrade's silences, which differ by their comments (spec/muo 7.2). */
const DEFAULT_MATCHERS: readonly Matcher[] = [
  { name: 'severity', value: '(warning|info)', isRegex: true },
  { name: 'namespace', value: '(^openshift.*|^kube.*|^redhat.*|^default$)', isRegex: true },
];

/** These alerts, of any severity and namespace. */
const criticalMatchers = (alerts: readonly string[]): readonly Matcher[] => [
  { name: 'alertname', value: `(${alerts.join('|')})`, isRegex: true },
];

/** Comments of silences. */
const comments = {
  controlPlane: (version: string) => `Silence for OSD control plane upgrade to version ${version}`,
  criticals: (version: string) => `Silence for critical alerts during OSD control plane upgrade to version ${version}`,
  workers: (version: string, remaining: number) => `${comments.workersOf(version)}${remaining} nodes`,
  /** Prefix that the comments of all counts share. */
  workersOf: (version: string) => `Silence for OSD worker node upgrade to version ${version} with remaining `,
} as const;

/** Version of the silence of a control plane's window; undefined for any other. */
const controlPlaneVersion = ({ comment }: Pick<Silence, 'comment'>): string | undefined =>
  /^Silence for OSD control plane upgrade to version ([\w.+-]{1,128})$/.exec(comment)?.[1];

/** A silence of the control plane's window, whatever its version. */
export const isControlPlane = ({ comment }: Pick<Silence, 'comment'>): boolean => comment.includes('OSD control plane');
/** A silence of the workers' window, whatever its version. */
export const isWorkers = ({ comment }: Pick<Silence, 'comment'>): boolean => comment.includes('OSD worker node');
