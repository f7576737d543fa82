/** Settles as `work` does, or after `ms`: by rejecting with `late` if there is one. A failure that comes later is of no interest. */
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
