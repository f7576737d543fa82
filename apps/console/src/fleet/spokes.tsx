import type { SpokeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { spokePath, upgradePath, useFilters } from '../address.ts';
import { type Column, Grid } from '../table/grid.tsx';
import { Age } from '../words/age.tsx';
import { AvailableMark, HeldMark, SpokeMark, spokeWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

/** Filters of the table, each a part of the address. */
const STATES = ['waiting', 'in-batch', 'done', 'failed', 'none'] as const;

/** All spokes that the filters leave, with the way to their causes. */
export function Spokes(): JSX.Element {
  const { spokes } = useWorld();
  const { query, set, href } = useFilters();
  const { route } = useLocation();
  void spokes.version.value;
  const all = spokes.values();
  const rows = all.filter((row) => isWanted(row, query));
  return (
    <section class="table" aria-labelledby="spokes-title">
      <header>
        <h2 id="spokes-title">Spokes</h2>
        <p class="count">{rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}</p>
        <Filters query={query} set={set} />
      </header>
      <Grid
        label="Spokes"
        layout="of-spokes"
        columns={columnsOf(href)}
        rows={rows}
        open={({ key }) => route(spokePath(key))}
        empty={all.length === 0 ? 'No spokes are known.' : 'No spoke passes the filters.'}
      />
    </section>
  );
}

interface FilterProps {
  readonly query: Readonly<Record<string, string>>;
  readonly set: (changes: Readonly<Record<string, string | undefined>>) => void;
}

function Filters({ query, set }: FilterProps): JSX.Element {
  return (
    <search class="filters">
      <label>
        <span class="hidden">Find by name, version or cause</span>
        <input
          type="search"
          placeholder="Name, version, cause"
          value={query.q ?? ''}
          onInput={({ currentTarget }) => set({ q: currentTarget.value || undefined })}
        />
      </label>
      <label>
        State{' '}
        <select value={query.state ?? ''} onChange={({ currentTarget }) => set({ state: currentTarget.value || undefined })}>
          <option value="">any</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {spokeWord(state)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Available{' '}
        <select value={query.available ?? ''} onChange={({ currentTarget }) => set({ available: currentTarget.value || undefined })}>
          <option value="">any</option>
          <option value="yes">yes</option>
          <option value="no">no</option>
          <option value="unknown">unknown</option>
        </select>
      </label>
    </search>
  );
}

function isWanted(row: SpokeRow, { q = '', state, available }: Readonly<Record<string, string>>): boolean {
  if (state !== undefined && row.state !== state) return false;
  if (available !== undefined && row.available !== available) return false;
  const sought = q.toLowerCase();
  return sought === '' || [row.key, row.version, row.says, row.hold].some((text) => text?.toLowerCase().includes(sought));
}

function columnsOf(href: (changes: Readonly<Record<string, string>>) => string): Column<SpokeRow>[] {
  return [
    {
      name: 'name',
      title: 'Spoke',
      sortBy: ({ key }) => key,
      cell: ({ key }, isActive) => (
        <a href={spokePath(key)} tabIndex={isActive ? 0 : -1}>
          {key}
        </a>
      ),
    },
    { name: 'version', title: 'Version', sortBy: ({ version }) => version ?? '', cell: ({ version }) => safeText(version ?? '–') },
    {
      name: 'available',
      title: 'Available',
      sortBy: ({ available }) => available,
      cell: ({ available, availableSince }) => (
        <>
          <AvailableMark available={available} />
          {available !== 'yes' && availableSince !== null && (
            <>
              {' '}
              <Age at={availableSince} />
            </>
          )}
        </>
      ),
    },
    {
      name: 'upgrade',
      title: 'Upgrade',
      sortBy: ({ upgrade }) => upgrade ?? '',
      cell: ({ upgrade }, isActive) =>
        upgrade === null ? (
          '–'
        ) : (
          <a href={upgradePath(upgrade)} tabIndex={isActive ? 0 : -1}>
            {upgrade}
          </a>
        ),
    },
    {
      name: 'state',
      title: 'State',
      sortBy: ({ state }) => state,
      cell: ({ state, hold }) => (hold === null ? <SpokeMark state={state} /> : <HeldMark word={`held, ${spokeWord(state)}`} />),
    },
    { name: 'batch', title: 'Batch', sortBy: ({ batch }) => batch ?? 0, cell: ({ batch }) => batch ?? '–' },
    { name: 'cached', title: 'Pre-cache', sortBy: ({ cached }) => cached ?? '', cell: ({ cached }) => cached ?? '–' },
    {
      name: 'cause',
      title: 'Cause',
      sortBy: ({ says }) => says ?? '',
      cell: ({ key, upgrade, says }, isActive) =>
        upgrade === null || says === null ? (
          '–'
        ) : (
          <a class="cause" href={href({ why: key })} tabIndex={isActive ? 0 : -1} aria-label={`Why ${key}: ${safeText(says)}`}>
            {safeText(says)}
          </a>
        ),
    },
  ];
}
