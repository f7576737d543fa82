/**
 * Progress reports a second from all spokes of an upgrade together. Each costs a write on the hub, by a work 15 ms of its server's CPU, and must
 * leave room for new jobs and verdicts.
 */
export const REPORTS_PER_SECOND = 25;
