import { AUDIT_IN_ONE_FILE, BEFORE_THE_ANSWER, readAuditLog } from '../fixtures/audit-log.ts';

/** Requests by `verb resource` or `verb resource/subresource`, as the audit log calls them; a dry run's verb is `dry-run`. */
export interface UserRequests {
  readonly counts: ReadonlyMap<string, number>;
  /** Answers of 400 and above, by `code verb resource`. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Options of an API server that records what one user asks of it, and nothing else. */
export const recordRequestsOf = (user: string, auditLogPath: string) => ({
  users: [{ name: user, groups: ['system:masters'] }],
  auditLogPath,
  auditPolicy: { rules: [{ level: 'Metadata', users: [user] }, { level: 'None' }], omitStages: BEFORE_THE_ANSWER },
  flags: [AUDIT_IN_ONE_FILE],
});

/** What the user asked from a moment on (milliseconds since the epoch); watches and leases are left out. */
export async function countRequests(auditLogPath: string, user: string, sinceMs: number): Promise<UserRequests> {
  const counts = new Map<string, number>();
  const refused = new Map<string, number>();
  const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  for await (const { verb, requestURI, user: by, objectRef, responseStatus, requestReceivedTimestamp } of readAuditLog(auditLogPath)) {
    if (by.username !== user || verb === 'watch' || !objectRef || objectRef.resource === 'leases') continue;
    if (Date.parse(requestReceivedTimestamp) < sinceMs) continue;
    const what = `${requestURI.includes('dryRun=All') ? 'dry-run' : verb} ${objectRef.resource}${objectRef.subresource ? `/${objectRef.subresource}` : ''}`;
    add(counts, what);
    if (responseStatus.code >= 400) add(refused, `${responseStatus.code} ${what}`);
  }
  return { counts, refused };
}

/** All of them together. */
export const totalOf = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
