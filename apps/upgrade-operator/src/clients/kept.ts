import { type BackOff, backOffMs, type Clock } from '@flotilla/runtime';

interface Keeping {
  readonly clock: Clock;
  readonly keepMs: number;
  /** Time that a failure stands in for an answer, longer from failure to failure. Default: it is not kept. */
  readonly failures?: BackOff;
}

/** Reads once and keeps the answer for `keepMs`; calls meanwhile share the reading. A reading that its caller ended is not kept. */
export function kept<A extends unknown[], T>(
  { clock, keepMs, failures: backOff }: Keeping,
  read: (...asked: A) => Promise<T>,
): (...asked: A) => Promise<T> {
  let last: { readonly value: Promise<T>; until: number } | undefined;
  let failures = 0;
  return (...asked) => {
    if (last && clock.now() < last.until) return last.value;
    const current = { value: read(...asked), until: clock.now() + keepMs };
    last = current;
    current.value.then(
      () => {
        failures = 0;
      },
      () => {
        const wasEnded = asked.some((each) => each instanceof AbortSignal && each.aborted);
        if (backOff && !wasEnded) current.until = clock.now() + backOffMs(backOff, ++failures);
        else if (last === current) last = undefined;
      },
    );
    return current.value;
  };
}

/** Questions whose answers are kept; the one that was asked for the first time longest ago goes first. */
const MOST = 32;

/** The same for questions that have a key each: the first of what is asked. */
export function keptByKey<K, A extends unknown[], T>(keeping: Keeping, read: (about: K, ...asked: A) => Promise<T>) {
  const known = new Map<string, (about: K, ...asked: A) => Promise<T>>();
  return (about: K, ...asked: A): Promise<T> => {
    const key = JSON.stringify(about);
    const ask = known.get(key) ?? kept(keeping, read);
    const oldest = known.has(key) || known.size < MOST ? undefined : known.keys().next();
    if (oldest && !oldest.done) known.delete(oldest.value);
    known.set(key, ask);
    return ask(about, ...asked);
  };
}
