import type { PlanAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { spokePath, useFilters } from '../address.ts';

/** Spokes of a batch that are named before somebody wants all. */
const MOST_NAMED = 12;
const MOST_BATCHES = 60;

/** The batches as they would be. */
export function PlannedBatches({ batches }: Pick<PlanAnswer, 'batches'>): JSX.Element | null {
  const { query, href } = useFilters();
  if (batches.length === 0) return null;
  const isAll = query.all === 'yes';
  const most = isAll ? Number.POSITIVE_INFINITY : MOST_NAMED;
  const shown = isAll ? batches : batches.slice(0, MOST_BATCHES);
  const isCut = batches.length > shown.length || batches.some(({ length }) => length > most);
  return (
    <section aria-labelledby="planned-title">
      <header class="head">
        <h2 id="planned-title">
          Batches <small>{batches.length}</small>
        </h2>
        {(isCut || isAll) && <a href={href({ all: isAll ? undefined : 'yes' })}>{isAll ? 'Shorter' : 'All of them'}</a>}
      </header>
      <ol class="planned">
        {shown.map((spokes, index) => (
          <li key={`${index} ${spokes[0]}`}>
            <strong>Batch {index + 1}</strong> <span class="count">{spokes.length}</span>
            <span class="names">
              {spokes.slice(0, most).map((spoke) => (
                <a key={spoke} href={spokePath(spoke)}>
                  {spoke}
                </a>
              ))}
              {spokes.length > most && <span>and {spokes.length - most} more</span>}
            </span>
          </li>
        ))}
      </ol>
      {batches.length > shown.length && <p class="empty">and {batches.length - shown.length} batches more</p>}
    </section>
  );
}
