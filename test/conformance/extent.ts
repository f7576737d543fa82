/**
 * How much of a suite is asked. All of it where the agent's own program stands between two API servers; the short form where the same
 * execution (`packages/agent`) stands in other surroundings: what those could break.
 */
export type Extent = 'full' | 'short';
