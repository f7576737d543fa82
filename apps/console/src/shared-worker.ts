/** The shared worker: a browser has six connections for one host, and seven tabs would leave one without. */
import './no-code-from-text.ts';
import { type Seat, Session } from './connection/session.ts';
import { Wish } from './connection/wish.ts';

const sessions = new Map<string, Session>();

addEventListener('connect', (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (!port) return;
  let seat: Seat | undefined;
  const leave = (): void => {
    seat?.leave();
    seat = undefined;
    // A token that no tab has any more is not kept.
    for (const [token, session] of sessions) if (session.isEmpty) sessions.delete(token);
  };
  port.onmessage = ({ data }) => {
    const wish = Wish.safeParse(data).data;
    if (wish?.kind === 'join') {
      leave();
      const session = sessions.get(wish.token) ?? new Session(wish.token);
      sessions.set(wish.token, session);
      seat = session.join((said) => port.postMessage(said));
    } else if (wish?.kind === 'look') seat?.look(wish.upgrade);
    else if (wish?.kind === 'see') seat?.see(wish.isSeen);
    else if (wish?.kind === 'leave') leave();
  };
});
