import type { LimitRow, LimitsLane } from '@flotilla/api/answers';
import { bytes, figure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { upgradePath, useFilters } from '../address.ts';
import { Table } from '../table/table.tsx';
import { useAnswer } from '../use-answer.ts';
import { Bar } from '../words/bar.tsx';
import { Mark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';

/** Between two questions: places come and go with every pass of the hub. */
const AGAIN_MS = 5_000;
/** Limits that are shown until somebody asks for all, and then. */
const FEW = 6;
const MANY = 100;

/** Limits of the fleet: who has their places, and who waits. Nothing where there are none. */
export function Limits(): JSX.Element | null {
  const world = useWorld();
  const { query, href } = useFilters();
  const isWhole = query.limits === 'all';
  const turn = Math.floor((world.heardAt.value ?? 0) / AGAIN_MS);
  const { answer, problem } = useAnswer(() => world.ask.limits(isWhole ? MANY : FEW), '', `${isWhole} ${turn}`);
  const limits = answer ?? world.limits;
  world.limits = limits;
  if (limits && problem === undefined && isNothing(limits)) return null;
  const says = problem ?? limits?.problem ?? undefined;
  return (
    <section aria-labelledby="limits-title">
      <h2 id="limits-title">Limits of the fleet</h2>
      {says !== undefined && <p class="problem">{safeText(says)}</p>}
      {!limits && says === undefined && <p class="empty">Not read yet.</p>}
      {limits && <Lane {...limits} />}
      {limits && (isWhole ? limits.rows.length > FEW : limits.more > 0) && (
        <a href={href({ limits: isWhole ? undefined : 'all' })}>{isWhole ? `The first ${FEW} alone` : `and ${limits.more} more`}</a>
      )}
      {isWhole && limits && limits.more > 0 && <p class="lack">{limits.more} more: flotilla limits prints them all.</p>}
    </section>
  );
}

const isNothing = ({ rows, problem, unknown }: LimitsLane): boolean => rows.length === 0 && problem === null && unknown === null;

const HEADS = ['Limit', 'Waiting', 'Places', 'Held by', 'Next'] as const;

const Lane = ({ rows, unknown, notes }: LimitsLane): JSX.Element => (
  <>
    {unknown !== null && <Mark shape="question" tone="late" word={`not known: ${safeText(unknown)}`} />}
    {rows.length > 0 && <Rows rows={rows} />}
    {notes.map((note) => (
      <p key={note} class="lack">
        {safeText(note)}
      </p>
    ))}
  </>
);

const Rows = ({ rows }: Pick<LimitsLane, 'rows'>): JSX.Element => (
  <Table label="limits-title" heads={HEADS} numbers={['Waiting']}>
    {rows.map((row) => {
      const clusters = safeText(row.clusters);
      const name = `${clusters} ${row.may}`;
      return (
        <tr key={name}>
          <th scope="row" class="limit">
            {clusters} <small>{row.may}</small>
          </th>
          <td class="number">{row.isRate ? '–' : row.waiting.toLocaleString()}</td>
          <td>
            <Places name={name} {...row} />
          </td>
          <td class="text shares">
            <Shares of={row.holders} more={row.moreHolders} />
          </td>
          <td class="text shares">
            <Shares of={row.waiters} more={row.moreWaiters} query="?cause=limit" />
          </td>
        </tr>
      );
    })}
  </Table>
);

function Places({ name, taken, most, isRate }: LimitRow & { readonly name: string }): JSX.Element {
  const shown = (count: number): string => (isRate ? bytes(count) : count.toLocaleString());
  const says = `${figure(taken, shown)} of ${shown(most)}`;
  return <span title={taken.why}>{taken.value === undefined ? says : <Bar label={name} done={taken.value} of={most} says={says} />}</span>;
}

interface SharesProps {
  readonly of: LimitRow['holders'];
  readonly more: number;
  /** Filters of its spokes. */
  readonly query?: string;
}

/** Upgrades with the number of their spokes. */
function Shares({ of, more, query = '' }: SharesProps): JSX.Element {
  return (
    <>
      {of.length === 0 && '–'}
      {of.map(({ upgrade, clusters }, index) => (
        <span key={upgrade}>
          {index > 0 && ', '}
          <a href={upgradePath(upgrade) + query}>{upgrade}</a> {clusters.toLocaleString()}
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}
