import type { WhyAllAnswer, WhyAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Age } from '../words/age.tsx';
import { Mark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

interface WhyProps {
  readonly upgrade: string;
  /** The upgrade as a whole when absent. */
  readonly cluster?: string | undefined;
}

type Asked = WhyAnswer | WhyAllAnswer | { readonly problem: string } | undefined;

/** The chain from who waits to what all wait for, asked anew when its subject changes or somebody wants it. */
export function Why({ upgrade, cluster }: WhyProps): JSX.Element {
  const { ask } = useWorld();
  const [answer, setAnswer] = useState<Asked>();
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    const take = (next: Asked): void => {
      if (isCurrent) setAnswer(next);
    };
    ask.why(upgrade, cluster).then(take, (error: unknown) => take({ problem: error instanceof Error ? error.message : String(error) }));
    return () => {
      isCurrent = false;
    };
  }, [ask, upgrade, cluster, asked]);
  const again = (
    <button type="button" class="quiet" onClick={() => setAsked(asked + 1)}>
      Ask again
    </button>
  );
  if (!answer) return <p class="empty">Asking…</p>;
  if ('problem' in answer)
    return (
      <div>
        <p class="problem">{safeText(answer.problem)}</p>
        {again}
      </div>
    );
  const chain = 'waits' in answer ? answer.first : answer;
  return (
    <div class="why">
      <Chain {...chain} />
      {again}
    </div>
  );
}

function Chain({ chain, release, notes, isCertain }: WhyAnswer): JSX.Element {
  return (
    <>
      <ol class="chain">
        {chain.map(({ says, object, field, value, observedAt, isUnknown }, depth) => (
          <li key={`${depth} ${object} ${field}`}>
            <p class="says">
              {isUnknown && <Mark shape="question" tone="late" word="not known now:" />} {safeText(says)}
            </p>
            <p class="evidence">
              <span>{safeText(object)}</span> <code>{safeText(`${field}=${value}`)}</code>{' '}
              {observedAt === undefined ? (
                'age unknown'
              ) : (
                <>
                  <Age at={observedAt} /> ago
                </>
              )}
            </p>
          </li>
        ))}
      </ol>
      {!isCertain && <p>What is marked “not known now” may have changed since.</p>}
      <p class="release">
        <strong>{release.byItself ? 'Releases by itself:' : 'To release it:'}</strong> {safeText(release.says)}
        {release.at !== undefined && ` (${new Date(release.at).toLocaleString()})`}
      </p>
      {notes.map((note) => (
        <p key={note} class="problem">
          {safeText(note)}
        </p>
      ))}
    </>
  );
}
