/** Words by which a spoke's API server says no for good: an action's failure is text alone (spec/ocm 1.3). Pure. */

/** How often one thing may be refused, or the job vanish, before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Forbidden, Invalid and admission say this, whoever carries it: the stock agent puts its own words before it. */
const VERDICTS = [' is forbidden: ', ' is invalid: ', ' denied the request'];
/** An answer that quotes somebody else's, and a namespace that will be gone in a moment. */
const PASSING = ['Internal error occurred: ', ' because it is being terminated'];

/**
 * True when asking again brings the same answer. Everything else may pass: refused connections, time-outs, an overloaded server, and what
 * nobody has seen yet.
 */
export const isRefusal = (message: string): boolean =>
  VERDICTS.some((words) => message.includes(words)) && !PASSING.some((words) => message.includes(words));
