/**
 * Runs `work` for every item, at most `width` at a time, starting the next as soon as one ends. After an error no further
 * item is started; it is thrown when everything that runs has ended.
 */
export async function forEachParallel<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  // one shared iterator: each lane takes the next item when it is free
  const iterator = Iterator.from(items);
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done && failures.length === 0; next = iterator.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (failures.length > 0) throw failures[0];
}
