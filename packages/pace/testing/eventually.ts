/**
 * Asks until the answer is neither undefined nor false, and returns it; an error is an answer too. Throws after `timeoutMs`, with what was
 * waited for and the last answer.
 * @param what waited for, as in "the last notification"
 * @param timeoutMs milliseconds
 * @param everyMs milliseconds between two questions; default: a tenth of the time that it has taken so far, from 25 to 200
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
      const told = typeof what === 'string' ? what : what();
      throw new Error(`${told} did not hold within ${timeoutMs} ms; last: ${String(last)}`, { cause: last });
    }
    const waitMs = everyMs ?? Math.min(200, Math.max(25, elapsed / 10));
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
