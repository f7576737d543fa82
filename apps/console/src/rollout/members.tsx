import type { MemberRow, UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { spokePath, useFilters } from '../address.ts';
import { Export } from '../export/export.tsx';
import { rankOfSpoke, STATES } from '../fleet/matter.ts';
import { Steer } from '../steer/steer.tsx';
import { type Column, Grid, useRows } from '../table/grid.tsx';
import { causeColumn, nameColumn } from '../table/spoke-columns.tsx';
import { absolute } from '../words/age.tsx';
import { CacheMark, hasNoImages, SpokeMark, spokeWord } from '../words/marks.tsx';
import { useWorld } from '../world-context.ts';

interface MembersProps {
  readonly members: readonly MemberRow[];
  readonly upgrade: UpgradeRow;
}

const mayRetry = ({ state, cached }: MemberRow): boolean => state === 'failed' || hasNoImages(cached);

/** Spokes of an upgrade that the filters leave. */
export function Members({ members, upgrade: { key: of, writtenAt } }: MembersProps): JSX.Element {
  const { query, set, href } = useFilters();
  const { route } = useLocation();
  const lack = useWorld().rights.value?.steerUpgrades ?? null;
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const columns = columnsOf(href, writtenAt);
  const rows = useRows(members, { columns, isWanted, rank: rankOfSpoke });
  const failed = useMemo(() => new Set(members.filter(mayRetry).map(({ key }) => key)), [members]);
  const chosen = picked.intersection(failed);
  const narrowed = (['batch', 'cause', 'says'] as const).filter((name) => query[name] !== undefined);
  return (
    <section class="table" aria-labelledby="members-title">
      <header class="head">
        <h2 id="members-title">Spokes</h2>
        <p class="count">
          {rows.length === members.length
            ? members.length.toLocaleString()
            : `${rows.length.toLocaleString()} of ${members.length.toLocaleString()}`}
        </p>
        <Export
          name={`spokes of ${of.replace('/', ' ')}`}
          titles={columns.map(({ title }) => title)}
          rows={() => rows.map((row) => columns.map(({ value }) => value(row)))}
          objects={() => rows}
        />
        <Steer
          offers={chosen.size > 0 ? [{ action: 'retry', of, lack, clusters: [...chosen], label: `Retry ${chosen.size} chosen` }] : []}
        />
        <search class="filters">
          <label>
            <span class="hidden">Find by name or cause</span>
            <input
              type="search"
              placeholder="Name, cause"
              value={query.q ?? ''}
              onInput={({ currentTarget }) => set({ q: currentTarget.value || undefined }, query.q !== undefined)}
            />
          </label>
          <label>
            State{' '}
            <select value={query.state ?? ''} onChange={({ currentTarget }) => set({ state: currentTarget.value || undefined })}>
              <option value="">any</option>
              {STATES.filter((state) => state !== 'none').map((state) => (
                <option key={state} value={state}>
                  {spokeWord(state)}
                </option>
              ))}
            </select>
          </label>
          {narrowed.length > 0 && (
            <a class="button" href={href({ batch: undefined, cause: undefined, says: undefined })}>
              Without {query.batch === undefined ? 'the cause' : `batch ${query.batch}`}
            </a>
          )}
        </search>
      </header>
      <Grid
        label="Spokes of this upgrade"
        layout="of-members"
        columns={columns}
        rows={rows}
        isBad={(row) => rankOfSpoke(row) === 0}
        open={({ key }) => route(spokePath(key))}
        empty={members.length === 0 ? 'No spoke is planned.' : 'No spoke passes the filters.'}
        choice={
          failed.size === 0
            ? undefined
            : {
                chosen,
                mayChoose: (key) => failed.has(key),
                onChoose: (key) => setPicked(picked.symmetricDifference(new Set([key]))),
              }
        }
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

function columnsOf(href: (changes: Readonly<Record<string, string>>) => string, writtenAt: string | null): Column<MemberRow>[] {
  const asOf = (): string | undefined => (writtenAt === null ? undefined : `as the hub wrote it: ${absolute(writtenAt)}`);
  return [
    nameColumn,
    { name: 'state', title: 'State', value: ({ state }) => spokeWord(state), cell: ({ state }) => <SpokeMark state={state} />, asOf },
    causeColumn(href, asOf),
    { name: 'batch', title: 'Batch', value: ({ batch }) => batch, cell: ({ batch }) => batch ?? '–', asOf },
    { name: 'cached', title: 'Pre-cache', value: ({ cached }) => cached, cell: ({ cached }) => <CacheMark cached={cached} />, asOf },
  ];
}
