/** A seat for this tab: in the shared worker of all tabs, or in a session of its own. */
import { type Said, type Seat, Session } from './session.ts';
import type { Wish } from './wish.ts';

/** Makes addresses of scripts, which the content policy takes from nobody else. */
interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}
declare global {
  /** Absent from browsers that do not ask where scripts come from. */
  var trustedTypes: PolicyFactory | undefined;
}

/** The script of `shared-worker.ts`: its name is fixed where the page is built. */
const SCRIPT = '/assets/shared.js';

/** Takes a seat. @param hear hears everything that is said to the tab */
export function takeSeat(token: string, hear: (said: Said) => void): Seat {
  const worker = startWorker();
  if (!worker) return new Session(token).join(hear);
  const { port } = worker;
  const say = (wish: Wish): void => port.postMessage(wish);
  port.onmessage = ({ data }: MessageEvent<Said>) => hear(data);
  say({ kind: 'join', token });
  return {
    look: (upgrade) => say({ kind: 'look', ...(upgrade !== undefined && { upgrade }) }),
    see: (isSeen) => say({ kind: 'see', isSeen }),
    leave: () => say({ kind: 'leave' }),
  };
}

/** Browsers without one, or that refuse it, hold a stream for each tab that is seen. */
function startWorker(): SharedWorker | undefined {
  if (!('SharedWorker' in globalThis)) return undefined;
  try {
    const policy = globalThis.trustedTypes?.createPolicy('flotilla-stream', { createScriptURL: (url) => url });
    return new SharedWorker(policy?.createScriptURL(SCRIPT) ?? SCRIPT, { type: 'module', name: 'flotilla-stream' });
  } catch {
    return undefined;
  }
}
