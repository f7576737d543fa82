/** Reads the waits that the hub has stored: `why` says what the decision said. Pure. */
import { CAUSES } from '../waits/causes.ts';
import { readWait, WHOLE_UPGRADE } from '../waits/wait.ts';
import { behind as before, byItself, bySomebody, type Finding, finding, link, upgradeEvidence } from './finding.ts';
import type { Question } from './question.ts';

/** The stored wait of a cluster, or of the upgrade as a whole. @param cluster absent for the whole */
export function storedWait({ facts, askUpgrade }: Question, cluster?: string): Finding | undefined {
  const key = cluster ?? WHOLE_UPGRADE;
  const message = facts.upgrade.status?.messages?.[key];
  const wait = message === undefined ? undefined : readWait(message);
  if (message === undefined || !wait) return undefined;
  const { cause, says, fix, since, until, of, behind } = wait;
  const { observedAt, ...stored } = upgradeEvidence(facts, `status.messages[${key}]`, message);
  const first = link(cluster === undefined ? says : `${cluster} waits: ${says}`, { ...(of ?? stored), observedAt });
  const own = {
    cause,
    says: CAUSES[cause]?.awaits ?? (cluster === undefined ? says : says.replaceAll(cluster, '(cluster)')),
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  };
  if (behind) return before(first, askUpgrade({ namespace: behind.namespace ?? '', name: behind.name }, cluster), own);
  if (fix === undefined)
    return finding(cause, first, byItself(CAUSES[cause]?.ends ?? 'It goes on by itself, or when its time is over.', until), own);
  const end = until === undefined ? '' : ` It times out at ${new Date(until).toISOString()}.`;
  return finding(cause, first, bySomebody(`${fix.charAt(0).toUpperCase()}${fix.slice(1)}.${end}`), own);
}
