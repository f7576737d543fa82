/** An event as the API server takes it: everything within its limits. Pure. */

import type { KubeObject } from '@flotilla/api';
import { Event, type EventToRecord } from '@flotilla/api/core';

/** Reporter, time and name of an event. */
interface EventOrigin {
  readonly controller: string;
  readonly instance: string;
  /** Microseconds since the epoch. */
  readonly atMicros: number;
  /** Makes the name unique. */
  readonly suffix: string;
}

/** Limits of the API server: bytes of a note, of another text, of all annotations with their keys; characters of a name. */
const LIMITS = { note: 1024, text: 128, annotations: 256 * 1024, name: 253 };

/** The object to create. `name` and `generateName` are both set: one can be created again after a lost answer, the other tells its origin. */
export function eventObject(event: EventToRecord, { controller, instance, atMicros, suffix }: EventOrigin): KubeObject {
  const { type, reason, action, note, regarding, related, annotations = {} } = event;
  // A cut name could end in a dot, which no dash may follow.
  const base = regarding.name.slice(0, LIMITS.name - suffix.length - 1).replace(/(?<![^a-z0-9])[^a-z0-9]+$/, '');
  return {
    apiVersion: Event.apiVersion,
    kind: Event.kind,
    metadata: {
      name: `${base}-${suffix}`,
      generateName: `${base}-`,
      namespace: regarding.namespace || 'default',
      annotations: fitAnnotations(annotations, LIMITS.annotations),
    },
    eventTime: microTime(atMicros),
    type,
    reason: cutText(reason, LIMITS.text),
    action: cutText(action, LIMITS.text),
    note: cutText(note, LIMITS.note),
    reportingController: controller,
    reportingInstance: cutText(instance, LIMITS.text),
    regarding,
    ...(related && { related }),
  };
}

/** RFC 3339 with six digits, as metav1.MicroTime wants it. */
function microTime(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1000)).toISOString().slice(0, -1);
  return `${seconds}${String(micros % 1000).padStart(3, '0')}Z`;
}

/** The longest beginning of a text that has at most `limit` bytes of UTF-8 and no broken character. */
export function cutText(value: string, limit: number): string {
  const bytes = Buffer.from(value);
  if (bytes.length <= limit) return value;
  let end = limit;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** A comma-joined list without its last items; a text without a comma is cut as text, for it is no list. */
function cutList(value: string, limit: number): string {
  if (!value.includes(',')) return cutText(value, limit);
  const cut = cutText(value, limit);
  return value[cut.length] === ',' ? cut : cut.slice(0, Math.max(0, cut.lastIndexOf(',')));
}

/**
 * Annotations of at most `limit` bytes: the longest values lose items at commas, one value after the other, and
 * `<prefix>truncated` names the keys that did (spec/talm 5.4).
 */
export function fitAnnotations(annotations: Readonly<Record<string, string>>, limit: number): Record<string, string> {
  const fitted = { ...annotations };
  if (sizeOf(fitted) <= limit) return fitted;
  const cut: string[] = [];
  for (const [key, value] of Object.entries(annotations).toSorted((a, b) => Buffer.byteLength(b[1]) - Buffer.byteLength(a[1]))) {
    cut.push(key);
    fitted[`${key.slice(0, key.indexOf('/') + 1)}truncated`] = cut.join(',');
    const room = limit - sizeOf({ ...fitted, [key]: '' });
    fitted[key] = cutList(value, Math.max(0, room));
    if (room >= 0) return fitted;
  }
  return fitted;
}

const sizeOf = (annotations: Readonly<Record<string, string>>): number =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
