import type { Call } from '@flotilla/runtime';
import { z } from 'zod';

/** A call of a resource, as its path and query say. */
export interface ResourceCall {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  /** Absent for the collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Parameters of a query that are known; others are refused. */
export const Query = z.strictObject({
  labelSelector: z.string().optional(),
  fieldSelector: z.string().optional(),
  limit: z.coerce.number().int().nonnegative().optional(),
  continue: z.string().optional(),
  watch: z.enum(['true', '1', 'false', '0']).optional(),
  allowWatchBookmarks: z.string().optional(),
  resourceVersion: z.string().optional(),
  timeoutSeconds: z.coerce.number().optional(),
  fieldManager: z.string().optional(),
  fieldValidation: z.enum(['Strict', 'Warn', 'Ignore']).optional(),
  force: z.enum(['true', '1', 'false', '0']).optional(),
  dryRun: z.literal('All').optional(),
  propagationPolicy: z.enum(['Foreground', 'Background', 'Orphan']).optional(),
  gracePeriodSeconds: z.coerce.number().int().optional(),
});
export type Query = z.output<typeof Query>;

/** True for a parameter that is set to true. */
export const isSet = (value: string | undefined): boolean => value === 'true' || value === '1';

/** Segments of a path and its query. */
export function partsOf({ path }: Pick<Call, 'path'>): {
  readonly segments: readonly string[];
  readonly query: Readonly<Record<string, string>>;
} {
  const [before = '', after = ''] = path.split('?', 2);
  const segments = before.split('/').filter(Boolean).map(decodeURIComponent);
  return { segments, query: after === '' ? {} : Object.fromEntries(new URLSearchParams(after)) };
}

/** Reads the segments of a path as a call of a resource; undefined for other paths. */
export function resourceCall(segments: readonly string[]): ResourceCall | undefined {
  const [root, ...rest] = segments;
  const depth = root === 'api' ? 1 : root === 'apis' ? 2 : undefined;
  if (depth === undefined || rest.length <= depth) return undefined;
  const [group = '', version = ''] = depth === 1 ? ['', rest[0]] : rest;
  const [first = '', second, third, ...more] = rest.slice(depth);
  const isInNamespace = first === 'namespaces' && third !== undefined && !(more.length === 0 && ['status', 'finalize'].includes(third));
  if (isInNamespace)
    return { group, version, plural: third ?? '', namespace: second, name: more[0], subresource: more.slice(1).join('/') || undefined };
  const subresource = [third, ...more].filter((each) => each !== undefined).join('/') || undefined;
  return { group, version, plural: first, namespace: undefined, name: second, subresource };
}

/** Options that come as the body of a DELETE. */
export const DeleteBody = z.looseObject({
  preconditions: z.looseObject({ uid: z.string().optional(), resourceVersion: z.string().optional() }).optional(),
  propagationPolicy: z.enum(['Foreground', 'Background', 'Orphan']).optional(),
  gracePeriodSeconds: z.number().optional(),
  dryRun: z.array(z.string()).optional(),
});
export type DeleteBody = z.output<typeof DeleteBody>;
