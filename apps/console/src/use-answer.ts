import { useEffect, useState } from 'preact/hooks';
import { present } from './words/server-clock.ts';

/** An answer, or why there is none. Undefined while it is asked for the first time. */
interface Answered<T> {
  readonly answer: T | undefined;
  readonly problem: string | undefined;
  /** When the answer came, milliseconds since the epoch. */
  readonly at: number | undefined;
  readonly isBusy: boolean;
}

const NOTHING = { answer: undefined, problem: undefined, at: undefined, isBusy: true } as const;

/**
 * Asks whenever a key changes. What was answered before stays until the next answer comes, unless it was about something else.
 * @param subject the answer is about it
 * @param key changes when it is to be asked again
 */
export function useAnswer<T>(ask: () => Promise<T>, subject: string, key: string): Answered<T> {
  const [state, setState] = useState<Answered<T> & { readonly subject: string }>({ ...NOTHING, subject });
  useEffect(() => {
    let isCurrent = true;
    const take = (next: Partial<Answered<T>>): void => {
      if (isCurrent) setState({ ...NOTHING, ...next, isBusy: false, subject });
    };
    setState((before) => (before.subject === subject ? { ...before, isBusy: true } : { ...NOTHING, subject }));
    ask().then(
      (answer) => take({ answer, at: present() }),
      (error: unknown) => take({ problem: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [subject, key]);
  return state;
}
