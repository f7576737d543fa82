/** Final refusals by a spoke's API server: an action's failure is text alone (spec/ocm 1.3). Pure. */

/** Refusals of one object, or losses of the job, before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Texts of Forbidden, Invalid and admission errors, anywhere in a message: the stock agent prepends its own words. */
const VERDICTS = [' is forbidden: ', ' is invalid: ', ' denied the request'];
/** Texts of passing errors: one quotes another server's error, the other concerns a namespace that is about to go. */
const PASSING = ['Internal error occurred: ', ' because it is being terminated'];

/** True when a retry would get the same answer. All other errors may pass: refused connections, time-outs, overloaded servers, unknown texts. */
export const isRefusal = (message: string): boolean =>
  VERDICTS.some((words) => message.includes(words)) && !PASSING.some((words) => message.includes(words));
