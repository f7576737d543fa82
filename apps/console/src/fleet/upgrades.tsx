import { hasEnded, type UpgradeRow } from '@flotilla/api/answers';
import { duration, figure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { upgradePath, whyPath } from '../address.ts';
import type { Cell } from '../export/csv.ts';
import { Export } from '../export/export.tsx';
import { Table } from '../table/table.tsx';
import { Age } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { HeldMark, StageMark, stageWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

/** Those that go on stand before those that have ended. */
const rank = (row: UpgradeRow): string => `${hasEnded(row) ? 1 : 0} ${row.key}`;

const TITLES = ['Upgrade', 'Stage', 'Window', 'Cached', 'Done', 'In batch', 'Failed', 'Waiting for', 'Ends', 'Written'] as const;

/** Every upgrade as a row. */
export function Upgrades(): JSX.Element {
  const world = useWorld();
  const { upgrades, rights, isFilled } = world;
  const rows = upgrades.values().toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const lack = rights.value?.upgrades;
  const empty = isFilled.value
    ? 'No ClusterGroupUpgrade is there. Apply one with kubectl or from Git: it appears here by itself.'
    : 'Opening…';
  return (
    <section aria-labelledby="upgrades-title">
      <header class="head">
        <h2 id="upgrades-title">Upgrades</h2>
        {world.knows('upgrades') && <p class="count">{rows.length}</p>}
        {rows.length > 0 && <Export name="upgrades" titles={TITLES} rows={() => rows.map(cellsOf)} objects={() => rows} />}
      </header>
      {rows.length === 0 ? (
        <p class="empty">{lack ?? empty}</p>
      ) : (
        <Table label="upgrades-title" heads={TITLES} numbers={NUMBERS}>
          {rows.map((row) => (
            <Row key={row.key} row={row} />
          ))}
        </Table>
      )}
    </section>
  );
}

const NUMBERS: readonly string[] = ['In batch', 'Failed'];

/** A row as an export has it, in the order of the titles. */
const cellsOf = ({ key, stage, window, cached, clusters, waits, ends, writtenAt }: UpgradeRow): Cell[] => [
  key,
  stageWord(stage),
  window.state,
  cached?.done ?? null,
  clusters.done,
  clusters.inBatch,
  clusters.failed,
  waits[0]?.says ?? null,
  ends ? figure(ends.seconds, duration) : null,
  writtenAt,
];

function Row({ row }: { readonly row: UpgradeRow }): JSX.Element {
  const { key, stage, paused, cached, clusters, waits, ends, writtenAt } = row;
  const [first] = waits;
  return (
    <tr>
      <th scope="row">
        <a href={upgradePath(key)}>{key}</a>
      </th>
      <td>
        <StageMark stage={stage} />
        {paused !== null && (
          <>
            {' '}
            <HeldMark word="paused" />
          </>
        )}
      </td>
      <td>
        <WindowText {...row.window} />
      </td>
      <td>{cached ? <Bar label="cached" done={cached.done} failed={cached.failed} of={cached.of} /> : '–'}</td>
      <td>
        <Bar label="done" done={clusters.done} failed={clusters.failed} of={clusters.total} />
      </td>
      <td class="number">{clusters.inBatch}</td>
      <td class="number">{clusters.failed > 0 ? <a href={`${upgradePath(key)}?state=failed`}>{clusters.failed}</a> : 0}</td>
      <td class="text">
        {first ? (
          <a class="clamp" href={whyPath(key)} aria-label={`Why ${key}: ${safeText(first.says)} (${first.clusters})`}>
            {safeText(first.says)} ({first.clusters})
          </a>
        ) : (
          '–'
        )}
      </td>
      <td>
        {ends ? figure(ends.seconds, duration) : '–'}
        {ends?.fitsWindow === false && <strong> does not fit</strong>}
      </td>
      <td>
        <Age at={writtenAt} />
      </td>
    </tr>
  );
}

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
