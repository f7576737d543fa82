import { hasEnded, type SpokeRow, type SpokeState } from '@flotilla/api/answers';
import { bytes } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useFilters } from '../address.ts';
import { Mark, spokeMark } from '../words/marks.tsx';
import { useWorld } from '../world-context.ts';

const STATES: readonly SpokeState[] = ['done', 'in-batch', 'waiting', 'failed', 'none'];

/** The fleet in a few figures, and its spokes by state as a bar; each leads to its spokes. */
export function Summary(): JSX.Element {
  const { spokes, upgrades } = useWorld();
  const { query, href } = useFilters();
  const all = spokes.values();
  const { states, available, held } = useMemo(() => count(all), [all]);
  const running = upgrades.values().filter((row) => !hasEnded(row));
  const pulling = running.reduce((sum, { cached }) => sum + (cached?.pulling ?? 0), 0);
  const rate = running.reduce((sum, { cached }) => sum + (cached?.bytesPerSecond.value ?? 0), 0);
  return (
    <section class="summary" aria-labelledby="summary-title">
      <h2 id="summary-title" class="hidden">
        At a glance
      </h2>
      <ul class="tiles">
        <Tile figure={all.length} word={all.length === 1 ? 'spoke' : 'spokes'} />
        <Tile figure={all.length - available} word="not available" href={href({ available: 'missing', state: undefined })} isBad />
        <Tile figure={running.length} word={running.length === 1 ? 'upgrade goes on' : 'upgrades go on'} />
        <Tile figure={states.failed ?? 0} word="failed" href={href({ state: 'failed', available: undefined })} isBad />
        <Tile figure={pulling} word={rate > 0 ? `pulling, ${bytes(rate)}/s` : 'pulling'} />
        <Tile figure={held} word="held" href={href({ state: 'held', available: undefined })} />
      </ul>
      {all.length > 0 && (
        <>
          <div class="states" aria-hidden="true">
            {STATES.filter((state) => (states[state] ?? 0) > 0).map((state) => (
              <span key={state} class={`part ${state}`} style={{ flexGrow: states[state] ?? 0 }} />
            ))}
          </div>
          <ul class="legend">
            {STATES.map((state) => (
              <li key={state}>
                <a
                  href={href({ state: query.state === state ? undefined : state, available: undefined })}
                  aria-current={query.state === state ? 'true' : undefined}
                >
                  <Mark {...spokeMark(state)} /> <span class="number">{(states[state] ?? 0).toLocaleString()}</span>
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface TileProps {
  readonly figure: number;
  readonly word: string;
  readonly href?: string;
  /** More than none is bad. */
  readonly isBad?: boolean;
}

function Tile({ figure, word, href, isBad = false }: TileProps): JSX.Element {
  const content = (
    <>
      <strong>{figure.toLocaleString()}</strong> <span>{word}</span>
    </>
  );
  return (
    <li class={isBad && figure > 0 ? 'tile bad' : 'tile'}>
      {href !== undefined && figure > 0 ? <a href={href}>{content}</a> : <span>{content}</span>}
    </li>
  );
}

function count(all: readonly SpokeRow[]) {
  const states: Partial<Record<SpokeState, number>> = {};
  let [available, held] = [0, 0];
  for (const row of all) {
    states[row.state] = (states[row.state] ?? 0) + 1;
    if (row.available === 'yes') available += 1;
    if (row.hold !== null) held += 1;
  }
  return { states, available, held };
}
