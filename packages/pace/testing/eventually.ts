/**
 * Asks until the answer is neither undefined nor false, and returns it; an error counts as an answer. Throws after `timeoutMs`, with the condition
 * and the last answer.
 * @param what condition for the message, as in "the last notification"
 * @param timeoutMs milliseconds
 * @param everyMs milliseconds between two calls; default: a tenth of the elapsed time, from 25 to 200
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  what: string | (() => string) = 'the condition',
  timeoutMs = 30_000,
  everyMs?: number,
): Promise<T> {
  const start = Date.now();
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    const elapsed = Date.now() - start;
    if (elapsed > timeoutMs) {
      const condition = typeof what === 'string' ? what : what();
      throw new Error(`${condition} did not hold within ${timeoutMs} ms; last: ${String(last)}`, { cause: last });
    }
    const waitMs = everyMs ?? Math.min(200, Math.max(25, elapsed / 10));
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
