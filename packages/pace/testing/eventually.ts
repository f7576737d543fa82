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

/**
 * Repeats an assertion until it holds, and returns what it returns. Throws its last error after `timeout` milliseconds; the default is for a busy machine.
 * @param interval milliseconds between two attempts
 */
export async function settled<T>(
  assertion: () => Promise<T> | T,
  { timeout = 20_000, interval = 25 }: { readonly timeout?: number; readonly interval?: number } = {},
): Promise<T> {
  for (const start = Date.now(); ; ) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() - start > timeout) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}
