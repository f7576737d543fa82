import type { MemberRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { spokePath, useFilters } from '../address.ts';
import { type Column, Grid } from '../table/grid.tsx';
import { SpokeMark, spokeWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';

interface MembersProps {
  readonly members: readonly MemberRow[];
}

const STATES = ['waiting', 'in-batch', 'done', 'failed'] as const;

/** Spokes of an upgrade that the filters leave. */
export function Members({ members }: MembersProps): JSX.Element {
  const { query, set, href } = useFilters();
  const { route } = useLocation();
  const rows = members.filter((row) => isWanted(row, query));
  const chosen = (['batch', 'cause', 'says'] as const).filter((name) => query[name] !== undefined);
  return (
    <section class="table" aria-labelledby="members-title">
      <header>
        <h2 id="members-title">Spokes</h2>
        <p class="count">{rows.length === members.length ? members.length : `${rows.length} of ${members.length}`}</p>
        <search class="filters">
          <label>
            <span class="hidden">Find by name or cause</span>
            <input
              type="search"
              placeholder="Name, cause"
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
          {chosen.length > 0 && (
            <a class="button" href={href({ batch: undefined, cause: undefined, says: undefined })}>
              Without {query.batch === undefined ? 'the cause' : `batch ${query.batch}`}
            </a>
          )}
        </search>
      </header>
      <Grid
        label="Spokes of this upgrade"
        layout="of-members"
        columns={columnsOf(href)}
        rows={rows}
        open={({ key }) => route(spokePath(key))}
        empty={members.length === 0 ? 'No spoke is planned.' : 'No spoke passes the filters.'}
      />
    </section>
  );
}

function isWanted(row: MemberRow, { q = '', state, batch, cause, says }: Readonly<Record<string, string>>): boolean {
  if (state !== undefined && row.state !== state) return false;
  if (batch !== undefined && String(row.batch) !== batch) return false;
  if (cause !== undefined && row.cause !== cause) return false;
  if (says !== undefined && row.says !== says) return false;
  const sought = q.toLowerCase();
  return sought === '' || [row.key, row.says].some((text) => text?.toLowerCase().includes(sought));
}

function columnsOf(href: (changes: Readonly<Record<string, string>>) => string): Column<MemberRow>[] {
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
    { name: 'batch', title: 'Batch', sortBy: ({ batch }) => batch ?? 0, cell: ({ batch }) => batch ?? '–' },
    { name: 'state', title: 'State', sortBy: ({ state }) => state, cell: ({ state }) => <SpokeMark state={state} /> },
    { name: 'cached', title: 'Pre-cache', sortBy: ({ cached }) => cached ?? '', cell: ({ cached }) => cached ?? '–' },
    {
      name: 'cause',
      title: 'Cause',
      sortBy: ({ says }) => says ?? '',
      cell: ({ key, says }, isActive) =>
        says === null ? (
          '–'
        ) : (
          <a class="cause" href={href({ why: key })} tabIndex={isActive ? 0 : -1} aria-label={`Why ${key}: ${safeText(says)}`}>
            {safeText(says)}
          </a>
        ),
    },
  ];
}
