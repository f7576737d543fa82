import type { SpokeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { spokePath, upgradePath, useFilters } from '../address.ts';
import { Export } from '../export/export.tsx';
import { type Column, Grid, useRows } from '../table/grid.tsx';
import { compareVersions } from '../table/order.ts';
import { causeColumn, nameColumn } from '../table/spoke-columns.tsx';
import { Age, absolute } from '../words/age.tsx';
import { CacheMark, HeldMark, SpokeMark, spokeWord, YesMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { rankOfSpoke, STATES } from './matter.ts';

/** All spokes that the filters leave, with the way to their causes. */
export function Spokes(): JSX.Element {
  const { spokes, upgrades, rights, isFilled } = useWorld();
  const { query, set, href } = useFilters();
  const { route } = useLocation();
  const all = spokes.values();
  const columns = columnsOf(href, (upgrade) => upgrades.get(upgrade)?.writtenAt);
  const rows = useRows(all, { columns, isWanted, rank: rankOfSpoke });
  const none = rights.value?.spokes ?? (isFilled.value ? 'No spokes are known.' : 'Opening…');
  return (
    <section class="table" aria-labelledby="spokes-title">
      <header class="head">
        <h2 id="spokes-title">Spokes</h2>
        {isFilled.value && (
          <p class="count">
            {rows.length === all.length ? all.length.toLocaleString() : `${rows.length.toLocaleString()} of ${all.length.toLocaleString()}`}
          </p>
        )}
        <Export
          name="spokes"
          titles={columns.map(({ title }) => title)}
          rows={() => rows.map((row) => columns.map(({ value }) => value(row)))}
          objects={() => rows}
        />
        <Filters query={query} set={set} />
      </header>
      <Grid
        label="Spokes"
        layout="of-spokes"
        columns={columns}
        rows={rows}
        isBad={(row) => rankOfSpoke(row) === 0}
        open={({ key }) => route(spokePath(key))}
        empty={all.length === 0 ? none : 'No spoke passes the filters.'}
      />
    </section>
  );
}

interface FilterProps {
  readonly query: Readonly<Record<string, string>>;
  readonly set: ReturnType<typeof useFilters>['set'];
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
          onInput={({ currentTarget }) => set({ q: currentTarget.value || undefined }, query.q !== undefined)}
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
          <option value="held">held</option>
        </select>
      </label>
      <label>
        Available{' '}
        <select value={query.available ?? ''} onChange={({ currentTarget }) => set({ available: currentTarget.value || undefined })}>
          <option value="">any</option>
          <option value="yes">yes</option>
          <option value="no">no</option>
          <option value="unknown">unknown</option>
          <option value="missing">no or unknown</option>
        </select>
      </label>
    </search>
  );
}

function isWanted(row: SpokeRow, { q = '', state, available }: Readonly<Record<string, string>>): boolean {
  if (state !== undefined && (state === 'held' ? row.hold === null : row.state !== state)) return false;
  if (available !== undefined && (available === 'missing' ? row.available === 'yes' : row.available !== available)) return false;
  const sought = q.toLowerCase();
  return sought === '' || [row.key, row.version, row.upgrade, row.says, row.hold].some((text) => text?.toLowerCase().includes(sought));
}

type Href = (changes: Readonly<Record<string, string>>) => string;

/** @param writtenAt when a hub wrote the status of an upgrade: what it says of a spoke is as old as that */
function columnsOf(href: Href, writtenAt: (upgrade: string) => string | null | undefined): Column<SpokeRow>[] {
  const asOf = ({ upgrade }: SpokeRow): string | undefined => {
    const at = upgrade === null ? undefined : writtenAt(upgrade);
    return at == null ? undefined : `as the hub wrote it: ${absolute(at)}`;
  };
  return [
    nameColumn,
    {
      name: 'state',
      title: 'State',
      value: ({ state, hold }) => (hold === null ? spokeWord(state) : `held, ${spokeWord(state)}`),
      cell: ({ state, hold }) => (hold === null ? <SpokeMark state={state} /> : <HeldMark word={`held, ${spokeWord(state)}`} />),
      asOf,
    },
    causeColumn(href, asOf),
    {
      name: 'version',
      title: 'Version',
      value: ({ version }) => version,
      compare: (a, b) => compareVersions(String(a), String(b)),
      cell: ({ version }) => safeText(version ?? '–'),
    },
    {
      name: 'available',
      title: 'Available',
      value: ({ available }) => available,
      cell: ({ available, availableSince }) => (
        <>
          <YesMark is={available} />
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
      value: ({ upgrade }) => upgrade,
      cell: ({ upgrade }, isActive) =>
        upgrade === null ? (
          '–'
        ) : (
          <a href={upgradePath(upgrade)} tabIndex={isActive ? 0 : -1} title={upgrade}>
            {upgrade}
          </a>
        ),
    },
    { name: 'batch', title: 'Batch', value: ({ batch }) => batch, cell: ({ batch }) => batch ?? '–', asOf },
    { name: 'cached', title: 'Pre-cache', value: ({ cached }) => cached, cell: ({ cached }) => <CacheMark cached={cached} />, asOf },
  ];
}
