import type { WhyAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../use-answer.ts';
import { Age, AgeRead } from '../words/age.tsx';
import { Mark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

interface WhyProps {
  readonly upgrade: string;
  /** The upgrade as a whole when absent. */
  readonly cluster?: string | undefined;
  /** Asked anew when it changes. */
  readonly changes?: string;
}

/** Between two questions about somebody who waits: objects that the chain names change without a word. */
const AGAIN_MS = 15_000;

/** The chain from who waits to what all wait for, asked anew when its subject changes or somebody wants it. */
export function Why({ upgrade, cluster, changes = '' }: WhyProps): JSX.Element {
  const { ask, heardAt } = useWorld();
  const turn = Math.floor((heardAt.value ?? 0) / AGAIN_MS);
  const [asked, setAsked] = useState(0);
  const { answer, problem, at, isBusy } = useAnswer(
    () => ask.why(upgrade, cluster),
    `${upgrade} ${cluster}`,
    `${asked} ${changes} ${turn}`,
  );
  if (!answer && problem === undefined) return <p class="empty">Asking…</p>;
  return (
    <div class="why">
      {problem !== undefined && <p class="problem">{safeText(problem)}</p>}
      {answer && <Chain {...answer} readAt={at} />}
      <p class="asked">
        <button type="button" class="quiet" aria-busy={isBusy} onClick={() => setAsked(asked + 1)}>
          Ask again
        </button>
        {at !== undefined && (
          <span>
            asked <Age at={new Date(at).toISOString()} form="ago" />
          </span>
        )}
      </p>
    </div>
  );
}

function Chain({ cause, chain, release, notes, isCertain, readAt }: WhyAnswer & { readonly readAt: number | undefined }): JSX.Element {
  return (
    <>
      <ol class="chain">
        {chain.map(({ says, object, field, value, observedAt, isUnknown }, depth) => (
          <li key={`${depth} ${object} ${field}`}>
            <p class="says">
              {isUnknown && <Mark shape="question" tone="late" word="not known now:" />} {safeText(says)}
            </p>
            <p class="evidence">
              <span>{safeText(object)}</span> <code>{safeText(`${field}=${value}`)}</code> last known{' '}
              <AgeRead at={observedAt} readAt={readAt} />
            </p>
          </li>
        ))}
      </ol>
      {!isCertain && <p>What is marked “not known now” may have changed since.</p>}
      <p class="release">
        {cause !== 'done' && (
          <strong>{release.byItself ? 'Releases by itself: ' : cause === 'failed' ? 'What to do: ' : 'To release it: '}</strong>
        )}
        {safeText(release.says)}
        {release.at !== undefined && (
          <>
            {' '}
            (at the latest <Age at={release.at} form="in" />)
          </>
        )}
        {cause === 'limit' && (
          <>
            {' '}
            <a href="/?limits=all">See the limits</a>.
          </>
        )}
      </p>
      {notes.map((note) => (
        <p key={note} class="problem">
          {safeText(note)}
        </p>
      ))}
    </>
  );
}
