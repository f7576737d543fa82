/** Asks until the answer is true; throws after `withinMs`, and says what was waited for. For tests. */
export async function until(
  ask: () => boolean | Promise<boolean>,
  what: string | (() => string) = 'the condition',
  withinMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await ask())) {
    if (Date.now() > deadline) throw new Error(`waited ${withinMs / 1000} s for ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
