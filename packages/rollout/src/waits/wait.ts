/** Something that an upgrade or a cluster waits for, as the decision that holds it returns it and as the status says it. Pure. */
import { conditionTime, type Ref, refKey, refOfKey } from '@flotilla/api';
import { WaitCause } from '@flotilla/api/answers';
import { cutAtWord, cutInMiddle, fixOf, MOST_QUOTED, MOST_SAID, type Reason } from '@flotilla/api/ran';

/** One wait; times are milliseconds since the epoch. */
export interface Wait {
  readonly cause: WaitCause;
  /** A sentence on what is so, without a full stop. */
  readonly says: string;
  /** An imperative without a full stop; absent: it ends by itself. */
  readonly fix?: string | undefined;
  readonly since?: number | undefined;
  /** When it ends at the latest. */
  readonly until?: number | undefined;
  /** The field that shows it. */
  readonly of?: { readonly object: string; readonly field: string; readonly value: string } | undefined;
  /** The upgrade that is waited for. */
  readonly behind?: Ref | undefined;
}

/** Evidence that an object is not there. */
export const notFound = (object: string): NonNullable<Wait['of']> => ({ object, field: 'metadata.name', value: '(not found)' });

/** Key in `status.messages` of a wait of the whole upgrade; no cluster can have this name. */
export const WHOLE_UPGRADE = '(upgrade)';

/** The wait that a sentence with the fix of its reason tells of. */
export function waitBy(cause: WaitCause, reason: Reason, message: string, values: Parameters<typeof fixOf>[1] = {}): Wait {
  const fix = fixOf(reason, values);
  return { cause, says: message.replace(`; ${fix}`, ''), ...(fix !== '' && { fix: fix.replace(/ to go on$/, '') }) };
}

/** A wait as a sentence for people; any other message as it is. */
export function saidOf(message: string): string {
  const wait = readWait(message);
  return wait ? `${wait.says}${wait.fix === undefined ? '' : `; ${wait.fix}`}` : message;
}

/** A sentence that many clusters share: without the name of the one. */
export const masked = (text: string, cluster: string): string =>
  text.includes(cluster) ? text.replaceAll(new RegExp(`(?<![\\w.-])${cluster.replaceAll('.', '\\.')}(?![\\w-])`, 'g'), '(cluster)') : text;

const UNTIL = 'at the latest';
const SEEN = '; seen: ';
const FIX = '; to go on: ';

/** Shortest that a sentence is cut to, and a value beside it. */
const LEAST_SAID = 96;

/** The wait as a status says it, without the middle of a long sentence; `readWait` understands it. */
export function waitMessage({ cause, says, fix, since, until, of, behind }: Wait): string {
  const parts = [
    since === undefined ? '' : ` since ${conditionTime(since)}`,
    until === undefined ? '' : ` until ${conditionTime(until)} ${UNTIL}`,
    behind === undefined ? '' : ` behind ${refKey(behind)}`,
  ];
  const [head, end] = [`waits (${cause})${parts.join('')}: `, fix === undefined ? '' : `${FIX}${fix}`];
  const room = MOST_SAID - head.length - end.length;
  const place = of === undefined ? '' : `${SEEN}${of.object}, ${of.field}: `;
  const left = room - place.length - says.length;
  const value = cutAtWord(of?.value ?? '', Math.min(Math.max(left, LEAST_SAID), MOST_QUOTED));
  // Evidence without room is left out, because the fix stays whole.
  const seen = place.length + value.length > room - LEAST_SAID ? '' : `${place}${value}`;
  return `${head}${cutInMiddle(says, Math.max(room - seen.length, LEAST_SAID))}${seen}${end}`;
}

const HEAD = /^waits \(([a-z-]+)\)(?: since (\S+))?(?: until (\S+) at the latest)?(?: behind (\S+))?: /;

/**
 * The wait with the time since when the same has been waited for.
 * @param stored message of the last pass
 * @param now milliseconds since the epoch
 */
export function withSince(wait: Wait, stored: string | undefined, now: number): Wait {
  if (wait.since !== undefined) return wait;
  const before = readWait(stored ?? '');
  const { since = now } = before ?? {};
  const again = readWait(waitMessage({ ...wait, since }));
  return { ...wait, since: before?.says === again?.says ? Math.min(since, now) : now };
}

/** The wait that a message of a status says; undefined of any other message. */
export function readWait(message: string): Wait | undefined {
  const [head, word, since, until, behind] = HEAD.exec(message) ?? [];
  const cause = WaitCause.safeParse(word);
  if (head === undefined || !cause.success) return undefined;
  const [rest, fix] = splitAtLast(message.slice(head.length), FIX);
  const [says, seen] = splitAtLast(rest, SEEN);
  return {
    cause: cause.data,
    says,
    ...(fix !== undefined && { fix }),
    ...(since !== undefined && { since: Date.parse(since) }),
    ...(until !== undefined && { until: Date.parse(until) }),
    ...(seen !== undefined && { of: readEvidence(seen) }),
    ...(behind !== undefined && { behind: refOfKey(behind) }),
  };
}

function splitAtLast(text: string, separator: string): readonly [string, string?] {
  const at = text.lastIndexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function readEvidence(text: string): Wait['of'] {
  const [, object = '', field = '', value = ''] = /^(.*?), (.*?): (.*)$/s.exec(text) ?? [];
  return { object, field, value };
}
