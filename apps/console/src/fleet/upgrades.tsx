import type { UpgradeRow } from '@flotilla/api/answers';
import { endFigure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { upgradePath, useFilters, whyPath } from '../address.ts';
import { Export } from '../export/export.tsx';
import { type Column, Grid, useRows } from '../table/grid.tsx';
import { Age } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { HeldMark, StageMark, stageWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { GROUPS, type Group, groupOf, rankOfUpgrade } from './matter.ts';

/** Part of the address that holds the order. */
const SORTED_BY = 'order';

/** Upgrades that the filters leave, those with failures first. */
export function Upgrades(): JSX.Element {
  const world = useWorld();
  const { upgrades, rights, isFilled } = world;
  const { route } = useLocation();
  const all = upgrades.values();
  const rows = useRows(all, { columns, isWanted, rank: rankOfUpgrade, sortedBy: SORTED_BY });
  const none = isFilled.value
    ? 'No ClusterGroupUpgrade is there. Apply one with kubectl or from Git: it appears here by itself.'
    : 'Opening…';
  return (
    <section class="table" aria-labelledby="upgrades-title">
      <header class="head">
        <h2 id="upgrades-title">Upgrades</h2>
        {world.knows('upgrades') && <p class="count">{rows.length === all.length ? all.length : `${rows.length} of ${all.length}`}</p>}
        {all.length > 0 && (
          <>
            <Export
              name="upgrades"
              titles={columns.map(({ title }) => title)}
              rows={() => rows.map((row) => columns.map(({ value }) => value(row)))}
              objects={() => rows}
            />
            <Filters />
          </>
        )}
      </header>
      <Grid
        label="Upgrades"
        layout="of-upgrades"
        columns={columns}
        rows={rows}
        isBad={(row) => rankOfUpgrade(row) === 0}
        open={({ key }) => route(upgradePath(key))}
        empty={all.length === 0 ? (rights.value?.upgrades ?? none) : 'No upgrade passes the filters.'}
        sortedBy={SORTED_BY}
      />
    </section>
  );
}

const groupWords: Readonly<Record<Group, string>> = {
  failed: 'with failures',
  waiting: 'waiting',
  running: 'going on',
  ended: 'ended well',
};

function Filters(): JSX.Element {
  const { query, set } = useFilters();
  return (
    <search class="filters">
      <label>
        <span class="hidden">Find upgrades by name or cause</span>
        <input
          type="search"
          placeholder="Name, cause"
          value={query.find ?? ''}
          onInput={({ currentTarget }) => set({ find: currentTarget.value || undefined }, query.find !== undefined)}
        />
      </label>
      <label>
        Stage{' '}
        <select value={query.stage ?? ''} onChange={({ currentTarget }) => set({ stage: currentTarget.value || undefined })}>
          <option value="">any</option>
          {GROUPS.map((group) => (
            <option key={group} value={group}>
              {groupWords[group]}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}

function isWanted(row: UpgradeRow, { find = '', stage }: Readonly<Record<string, string>>): boolean {
  if (stage !== undefined && groupOf(row) !== stage) return false;
  const sought = find.toLowerCase();
  return [row.key, row.says, causeOf(row)?.says].some((text) => text?.toLowerCase().includes(sought));
}

/** The cause for which most spokes of an upgrade have failed, or else wait. */
const causeOf = ({ failures: [failure], waits: [wait] }: UpgradeRow) => failure ?? wait;

const columns: readonly Column<UpgradeRow>[] = [
  {
    name: 'name',
    title: 'Upgrade',
    value: ({ key }) => key,
    cell: ({ key }, isActive) => (
      <a href={upgradePath(key)} tabIndex={isActive ? 0 : -1} title={key}>
        {key}
      </a>
    ),
  },
  {
    name: 'stage',
    title: 'Stage',
    value: ({ stage }) => stageWord(stage),
    cell: ({ stage, paused }) => (
      <>
        <StageMark stage={stage} />
        {paused !== null && (
          <>
            {' '}
            <HeldMark word="paused" />
          </>
        )}
      </>
    ),
  },
  {
    name: 'cause',
    title: 'Cause',
    value: (row) => causeOf(row)?.says ?? null,
    cell: (row, isActive) => {
      const cause = causeOf(row);
      if (!cause) return '–';
      const says = `${safeText(cause.says)} (${cause.clusters})`;
      return (
        <a href={whyPath(row.key)} tabIndex={isActive ? 0 : -1} title={says} aria-label={`Why ${row.key}: ${says}`}>
          {says}
        </a>
      );
    },
  },
  {
    name: 'failed',
    title: 'Failed',
    value: ({ clusters }) => clusters.failed,
    cell: ({ key, clusters: { failed } }, isActive) =>
      failed > 0 ? (
        <a href={`${upgradePath(key)}?state=failed`} tabIndex={isActive ? 0 : -1}>
          {failed}
        </a>
      ) : (
        0
      ),
  },
  { name: 'window', title: 'Window', value: ({ window }) => window.state, cell: ({ window }) => <WindowText {...window} /> },
  {
    name: 'cached',
    title: 'Cached',
    value: ({ cached }) => cached?.done ?? null,
    cell: ({ cached }) => (cached ? <Bar label="cached" done={cached.done} failed={cached.failed} of={cached.of} /> : '–'),
  },
  {
    name: 'done',
    title: 'Done',
    value: ({ clusters }) => clusters.done,
    cell: ({ clusters }) => <Bar label="done" done={clusters.done} failed={clusters.failed} of={clusters.total} />,
  },
  { name: 'batch', title: 'In batch', value: ({ clusters }) => clusters.inBatch, cell: ({ clusters }) => clusters.inBatch },
  {
    name: 'ends',
    title: 'Ends in',
    value: ({ ends }) => (ends ? endFigure(ends.seconds) : null),
    order: ({ ends }) => ends?.seconds.value ?? null,
    cell: ({ ends }) => (
      <>
        {ends ? endFigure(ends.seconds) : '–'}
        {ends?.fitsWindow === false && <strong> does not fit</strong>}
      </>
    ),
  },
  { name: 'written', title: 'Written', value: ({ writtenAt }) => writtenAt, cell: ({ writtenAt }) => <Age at={writtenAt} /> },
];

/** Time for which a window stays open or closed. */
export function WindowText({ state, closesAt, opensAt, says }: UpgradeRow['window']): JSX.Element {
  if (state === 'none') return <>any time</>;
  if (state === 'invalid') return <span class="problem">{safeText(says ?? 'cannot be read')}</span>;
  const at = state === 'open' ? closesAt : opensAt;
  if (at === undefined) return <>{state === 'open' ? 'open' : 'closed for good'}</>;
  return (
    <>
      {state === 'open' ? 'open, closes ' : 'opens '}
      <Age at={at} form="in" />
    </>
  );
}
