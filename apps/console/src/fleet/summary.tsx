import { hasEnded, type SpokeRow, type SpokeState, type UpgradeRow } from '@flotilla/api/answers';
import { bytes } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { upgradePath, useFilters } from '../address.ts';
import { Mark, spokeMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { firstCauses, type Group, groupOf, STATES } from './matter.ts';

/** The fleet in a few figures, and its spokes by state as a bar; each leads to its spokes. */
export function Summary(): JSX.Element {
  const world = useWorld();
  const { spokes, upgrades } = world;
  const ofSpokes = (figure: number) => (world.knows('spokes') ? figure : undefined);
  const ofUpgrades = (figure: number) => (world.knows('upgrades') ? figure : undefined);
  const { query, href } = useFilters();
  const all = spokes.values();
  const { states, available, held } = useMemo(() => count(all), [all]);
  const running = upgrades.values().filter((row) => !hasEnded(row));
  const lost = upgrades.values().filter((row) => groupOf(row) === 'failed').length;
  const pulling = running.reduce((sum, { cached }) => sum + (cached?.pulling ?? 0), 0);
  const rate = running.reduce((sum, { cached }) => sum + (cached?.bytesPerSecond.value ?? 0), 0);
  return (
    <section class="summary" aria-labelledby="summary-title">
      <h2 id="summary-title" class="hidden">
        At a glance
      </h2>
      <ul class="tiles">
        <Tile figure={ofSpokes(all.length)} word={all.length === 1 ? 'spoke' : 'spokes'} />
        <Tile
          figure={ofSpokes(all.length - available)}
          word="not available"
          href={href({ available: 'missing', state: undefined })}
          isBad
        />
        <Tile figure={ofUpgrades(running.length)} word={running.length === 1 ? 'upgrade goes on' : 'upgrades go on'} />
        <Tile figure={ofUpgrades(states.failed ?? 0)} word="failed" href={href({ state: 'failed', available: undefined })} isBad />
        <Tile
          figure={ofUpgrades(lost)}
          word={lost === 1 ? 'upgrade with failures' : 'upgrades with failures'}
          href={href({ stage: 'failed' satisfies Group })}
          isBad
        />
        <Tile figure={ofUpgrades(pulling)} word={rate > 0 ? `pulling, ${bytes(rate)}/s` : 'pulling'} />
        <Tile figure={ofSpokes(held)} word="held" href={href({ state: 'held', available: undefined })} />
      </ul>
      <Causes title="Failed for" rows={upgrades.values()} of="failures" />
      <Causes title="Waiting for" rows={running} of="waits" />
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

interface CausesProps {
  readonly title: string;
  readonly rows: readonly UpgradeRow[];
  readonly of: 'failures' | 'waits';
}

/** The first causes on a line; each leads to the chain of a spoke. */
function Causes({ title, rows, of }: CausesProps): JSX.Element | null {
  const causes = firstCauses(rows, of);
  if (causes.length === 0) return null;
  return (
    <p class={`causes ${of}`}>
      <span>{title}</span>
      {causes.map(({ says, upgrade, example, clusters }) => (
        <a key={says} href={`${upgradePath(upgrade)}?why=${encodeURIComponent(example)}`} title={safeText(says)}>
          <b>{clusters.toLocaleString()}</b> {safeText(says)}
        </a>
      ))}
    </p>
  );
}

/** Stands where a figure is not known: none is another answer. */
const Unknown = (): JSX.Element => (
  <strong title="not known">
    <span aria-hidden="true">–</span>
    <span class="hidden">not known:</span>
  </strong>
);

interface TileProps {
  /** Absent: nobody knows it. */
  readonly figure: number | undefined;
  readonly word: string;
  readonly href?: string;
  /** More than none is bad. */
  readonly isBad?: boolean;
}

function Tile({ figure, word, href, isBad = false }: TileProps): JSX.Element {
  const isSome = figure !== undefined && figure > 0;
  const content = (
    <>
      {figure === undefined ? <Unknown /> : <strong>{figure.toLocaleString()}</strong>} <span>{word}</span>
    </>
  );
  return (
    <li class={isBad && isSome ? 'tile bad' : 'tile'}>
      {href !== undefined && isSome ? <a href={href}>{content}</a> : <span>{content}</span>}
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
