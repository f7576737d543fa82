import type { UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { upgradePath } from '../address.ts';
import { Scroll } from '../table/scroll.tsx';
import { Age, useNow } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { HeldMark, StageMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { age, duration, figure } from '../words/units.ts';
import { useWorld } from '../world-context.ts';

/** Those that go on stand before those that have ended. */
const ENDED: readonly string[] = ['done', 'failed', 'timed-out'];
const rank = ({ stage, key }: UpgradeRow): string => `${ENDED.includes(stage) ? 1 : 0} ${key}`;

/** Every upgrade as a row. */
export function Upgrades(): JSX.Element {
  const { upgrades, rights } = useWorld();
  void upgrades.version.value;
  const rows = upgrades.values().toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const lack = rights.value?.upgrades;
  if (rows.length === 0) return <p class="empty">{lack ?? 'No ClusterGroupUpgrade is there.'}</p>;
  return (
    <section aria-labelledby="upgrades-title">
      <h2 id="upgrades-title">Upgrades</h2>
      <Scroll label="upgrades-title">
        <table>
          <thead>
            <tr>
              <th scope="col">Upgrade</th>
              <th scope="col">Stage</th>
              <th scope="col">Window</th>
              <th scope="col">Cached</th>
              <th scope="col">Done</th>
              <th scope="col">In batch</th>
              <th scope="col">Failed</th>
              <th scope="col">Waiting for</th>
              <th scope="col">Ends</th>
              <th scope="col">Written</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.key} row={row} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

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
          <span class="clamp">
            {safeText(first.says)} ({first.clusters})
          </span>
        ) : (
          '–'
        )}
      </td>
      <td>{ends ? figure(ends.seconds, duration) : '–'}</td>
      <td>
        <Age at={writtenAt} />
      </td>
    </tr>
  );
}

/** Time for which a window stays open or closed. */
export function WindowText({ state, closesAt, opensAt, says }: UpgradeRow['window']): JSX.Element {
  const now = useNow();
  if (state === 'none') return <>any time</>;
  if (state === 'invalid') return <span class="problem">{safeText(says ?? 'cannot be read')}</span>;
  const at = state === 'open' ? closesAt : opensAt;
  if (at === undefined) return <>{state}</>;
  return (
    <>
      {state === 'open' ? 'open, ' : 'opens in '}
      {age(new Date(now).toISOString(), Date.parse(at))}
      {state === 'open' ? ' left' : ''}
    </>
  );
}
