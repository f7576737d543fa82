/** For this package's tests: tries an assertion until it holds, at most `budgetMs`; then its error is thrown. */
export async function eventually(assertion: () => void | Promise<void>, budgetMs = 5_000): Promise<void> {
  const end = performance.now() + budgetMs;
  for (;;) {
    try {
      await assertion();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
