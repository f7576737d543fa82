/** Resolves or rejects as `work` does, or after `ms`: with `late`, if given. A later failure is ignored. */
export async function within(ms: number, work: Promise<unknown>, late?: Error): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => (late ? reject(late) : resolve()), ms);
  work.then(() => resolve(), reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
}
