import { hasEnded, type MemberRow, type UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useFilters } from '../address.ts';

interface BatchesProps {
  readonly row: UpgradeRow;
  readonly members: readonly MemberRow[];
}

interface Tally {
  readonly done: number;
  readonly failed: number;
}

/** The batches of the plan as a picture; each leads to its spokes. */
export function Batches({ row: { batches, batch, stage }, members }: BatchesProps): JSX.Element {
  const { query, href } = useFilters();
  const tallies = tally(members);
  if (batches.length === 0) return <p class="empty">No batches are planned.</p>;
  return (
    <ol class={batches.length > 80 ? 'batches many' : 'batches'}>
      {batches.map((size, index) => {
        const number = index + 1;
        const { done, failed } = tallies.get(number) ?? { done: 0, failed: 0 };
        const word = stateOf({
          number,
          current: batch.current,
          isOver: stage === 'cleaning-up' || hasEnded({ stage }),
          size,
          ended: done + failed,
        });
        const isChosen = query.batch === String(number);
        const says = `Batch ${number}: ${word}, ${done} of ${size} done${failed > 0 ? `, ${failed} failed` : ''}`;
        return (
          <li key={number}>
            <a
              class={`batch ${word.replace(' ', '-')}${failed > 0 ? ' bad' : ''}`}
              href={href({ batch: isChosen ? undefined : String(number) })}
              aria-label={says}
              aria-current={isChosen ? 'true' : undefined}
              title={says}
            >
              <span class="number" aria-hidden="true">
                {number}
              </span>
              <span class="tank" aria-hidden="true">
                <span
                  class={done > 0 ? 'full' : 'broken'}
                  style={{ height: `${word === 'ended' ? 100 : (100 * (done || failed)) / size}%` }}
                />
              </span>
            </a>
          </li>
        );
      })}
    </ol>
  );
}

interface Place {
  readonly number: number;
  readonly current: number;
  readonly isOver: boolean;
  readonly size: number;
  readonly ended: number;
}

function stateOf({ number, current, isOver, size, ended }: Place): string {
  if (ended >= size || number < current) return 'ended';
  if (isOver) return number === current ? 'ended' : 'not begun';
  return number === current ? 'under way' : 'to come';
}

function tally(members: readonly MemberRow[]): ReadonlyMap<number, Tally> {
  const tallies = new Map<number, Tally>();
  for (const { batch, state } of members) {
    if (batch === null) continue;
    const { done, failed } = tallies.get(batch) ?? { done: 0, failed: 0 };
    tallies.set(batch, { done: done + (state === 'done' ? 1 : 0), failed: failed + (state === 'failed' ? 1 : 0) });
  }
  return tallies;
}
