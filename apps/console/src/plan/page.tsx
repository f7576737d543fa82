import type { Figure, PlanAnswer } from '@flotilla/api/answers';
import { bytes, duration, figure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { upgradePath, useFilters } from '../address.ts';
import { Export } from '../export/export.tsx';
import { WindowText } from '../fleet/upgrades.tsx';
import { useAnswer } from '../use-answer.ts';
import { Age } from '../words/age.tsx';
import { Fact } from '../words/fact.tsx';
import { Mark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { Trail } from '../words/trail.tsx';
import { useWorld } from '../world-context.ts';
import { PlannedBatches } from './batches.tsx';
import { Pulls } from './pulls.tsx';
import { Wish } from './wish.tsx';

/** Filters that the plan goes by. */
const WISHES = ['images', 'rate', 'batchMinutes'] as const;

/** The plan of an upgrade, before it does anything. */
export function PlanPage(): JSX.Element {
  const world = useWorld();
  const { params } = useRoute();
  const { query } = useFilters();
  const key = `${params.namespace}/${params.name}`;
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    world.look(undefined);
    document.title = `Plan of ${key} · Flotilla`;
  }, [world, key]);
  const wish = Object.fromEntries(WISHES.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));
  const { answer, problem, at, isBusy } = useAnswer(() => world.ask.plan(key, wish), key, `${asked} ${JSON.stringify(wish)}`);
  return (
    <main id="main" class="page">
      <Trail>
        {' '}
        › <a href={upgradePath(key)}>{key}</a>
      </Trail>
      <header class="title">
        <h1>Plan of {key}</h1>
        <div class="does">
          {answer && (
            <Export
              name={`plan of ${key.replace('/', ' ')}`}
              titles={['Batch', 'Spoke']}
              rows={() => answer.batches.flatMap((spokes, index) => spokes.map((spoke) => [index + 1, spoke]))}
              objects={() => answer}
            />
          )}
          <button type="button" disabled={isBusy} onClick={() => setAsked(asked + 1)}>
            Plan again
          </button>
        </div>
      </header>
      <p class="says" aria-live="polite">
        {isBusy && !answer
          ? query.images === 'yes'
            ? 'Planning, and looking the images up in their registries: this may take a minute or two…'
            : 'Planning…'
          : 'Nothing is written by looking at it.'}{' '}
        {at !== undefined && (
          <>
            Planned <Age at={new Date(at).toISOString()} form="ago" />
            {isBusy && ', planning again…'}
          </>
        )}
      </p>
      {problem !== undefined && <p class="problem">{safeText(problem)}</p>}
      <Wish />
      {answer && <Answer {...answer} />}
    </main>
  );
}

function Answer(answer: PlanAnswer): JSX.Element {
  const { batches, compliant, changes, window, hours, rollout, notes, digest, upgrade } = answer;
  const spokes = batches.flat().length;
  return (
    <>
      <p class="verdict">
        <Verdict {...answer} />
      </p>
      <dl class="facts">
        <Fact name="Spokes">
          {spokes} in {batches.length} {batches.length === 1 ? 'batch' : 'batches'}
          {compliant > 0 && `, ${compliant} with nothing to do`}
        </Fact>
        <Fact name="Window">
          <WindowText {...window} />
          {rollout.windowSeconds !== undefined && ` (${duration(rollout.windowSeconds)})`}
        </Fact>
        {hours && (
          <Fact name="No hour in this window">
            {hours.clusters.join(', ')}
            {hours.count > hours.clusters.length && ` and ${hours.count - hours.clusters.length} more`}
          </Fact>
        )}
        <Fact name="Rollout takes">
          <Shown of={rollout.seconds} as={duration} />
        </Fact>
        {answer.pulls.length > 0 && (
          <Fact name="All pull together">
            <Shown of={answer.bytes} as={bytes} />
          </Fact>
        )}
      </dl>
      {changes.length > 0 && (
        <section aria-labelledby="changes-title">
          <h2 id="changes-title">Changes, in order</h2>
          <ol class="changes">
            {changes.map((change) => (
              <li key={change}>{safeText(change)}</li>
            ))}
          </ol>
        </section>
      )}
      <PlannedBatches batches={batches} />
      <Pulls {...answer} />
      {digest !== undefined && (
        <section aria-labelledby="bind-title">
          <h2 id="bind-title">Bind it</h2>
          <p>
            To let the upgrade start by this plan alone, and be told what differs otherwise, annotate it with{' '}
            <code>flotilla.io/plan={digest}</code>:
          </p>
          <pre tabIndex={0}>
            kubectl annotate cgu {upgrade.split('/')[1]} -n {upgrade.split('/')[0]} flotilla.io/plan={digest}
          </pre>
        </section>
      )}
      {notes.length > 0 && (
        <section aria-labelledby="notes-title">
          <h2 id="notes-title">Not in these figures</h2>
          <ul>
            {notes.map((note) => (
              <li key={note}>{safeText(note)}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** Says in a sentence whether it fits. */
function Verdict({ refused, rollout: { fits, seconds, windowSeconds }, window, batches }: PlanAnswer): JSX.Element {
  if (refused !== undefined) return <Mark shape="cross" tone="bad" word={`The hub would not start it: ${safeText(refused)}`} />;
  if (batches.length === 0) return <>Nothing is to be done.</>;
  const times = `${figure(seconds, duration)} in a window of ${duration(windowSeconds ?? 0)}`;
  if (fits === true) return <Mark shape="check" tone="good" word={`It fits: ${times}`} />;
  if (fits === false) return <Mark shape="cross" tone="bad" word={`It does not fit: ${times}`} />;
  if (window.state === 'none') return <>It has no window: batches start as soon as they may.</>;
  return <Mark shape="question" tone="late" word="Whether it fits is not known: say how long a batch takes" />;
}

/** A reason that names options of the command, with the fields of this page instead. */
const onPage = (why: string): string => why.replace('--batch-minutes', 'the minutes of a batch').replace('--rate', 'what a spoke pulls');

/** A figure, and why it is no better. */
const Shown = ({ of, as }: { readonly of: Figure; readonly as: (value: number) => string }): JSX.Element => (
  <>
    {figure(of, as)}
    {of.certainty !== 'exact' && of.why !== undefined && <small class="because"> {safeText(onPage(of.why))}</small>}
  </>
);
