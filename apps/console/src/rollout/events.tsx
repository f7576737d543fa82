import type { EventsAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Age } from '../words/age.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

/** Events of an upgrade, read when somebody wants them. */
export function Events({ upgrade }: { readonly upgrade: string }): JSX.Element {
  const { ask } = useWorld();
  const [answer, setAnswer] = useState<EventsAnswer | { readonly problem: string }>();
  const read = (): void => {
    ask.events(upgrade).then(setAnswer, (error: unknown) => setAnswer({ problem: error instanceof Error ? error.message : String(error) }));
  };
  return (
    <details
      class="events"
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) read();
      }}
    >
      <summary>Events</summary>
      {answer === undefined && <p class="empty">Asking…</p>}
      {answer && 'problem' in answer && <p class="problem">{safeText(answer.problem)}</p>}
      {answer && 'events' in answer && answer.events.length === 0 && <p class="empty">The server has no events of it any more.</p>}
      {answer && 'events' in answer && (
        <ul>
          {answer.events.map(({ at, reason, note, isWarning }) => (
            <li key={`${at} ${reason} ${note}`}>
              <Age at={at} form="ago" /> <strong>{isWarning ? `Warning: ${safeText(reason)}` : safeText(reason)}</strong> {safeText(note)}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
