/** Questions to the server: none waits for ever, and a failure says the next step. */

/** A server that is there answers sooner. */
const ANSWER_MS = 30_000;

/** An answer of the server. */
interface Called {
  readonly status: number;
  /** Its JSON; undefined for another page. */
  readonly answer: unknown;
}

/** Asks the server. Throws an Error whose message says the next step. @param timeoutMs for the answer in full; default 30 s */
export async function call(path: string, init: RequestInit = {}, timeoutMs = ANSWER_MS): Promise<Called> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(path, { ...init, signal });
    const text = await response.text();
    return { status: response.status, answer: parse(text) };
  } catch (cause) {
    const says = signal.aborted
      ? `the console has not answered for ${timeoutMs / 1000} s: see that it runs, and what stands between, then ask again`
      : 'the console does not answer: see that flotilla console still runs, and that this machine reaches it';
    throw new Error(says, { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
