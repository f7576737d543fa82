import type { UpgradeRow, UpgradeStage } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { Mark } from '../words/marks.tsx';

/** Where each stage stands on the way: the step that goes on. */
const STEPS = ['Plan', 'Pre-cache', 'Gates', 'Batches', 'End'] as const;
const AT: Readonly<Record<UpgradeStage, number>> = {
  unplanned: 0,
  refused: 0,
  'pre-caching': 1,
  waiting: 2,
  preparing: 3,
  'rolling-out': 3,
  'between-batches': 3,
  'cleaning-up': 4,
  done: 5,
  partial: 4,
  failed: 4,
  'timed-out': 4,
  deleting: 4,
};
const BROKEN: readonly UpgradeStage[] = ['refused', 'partial', 'failed', 'timed-out'];

/** The way of an upgrade, and where it is on it. */
export function Track({ row: { stage, cached, batch } }: { readonly row: UpgradeRow }): JSX.Element {
  const at = AT[stage];
  const steps = STEPS.map((name, index) => ({ name, index })).filter(({ name }) => name !== 'Pre-cache' || cached !== null);
  const counts: Partial<Record<(typeof STEPS)[number], string>> = {
    ...(cached && { 'Pre-cache': `${cached.done}/${cached.of}` }),
    ...(batch.current > 0 && { Batches: `${batch.current}/${batch.of}` }),
  };
  return (
    <ol class="track">
      {steps.map(({ name, index }) => {
        const isBroken = index === at && BROKEN.includes(stage);
        const word = `${name}${counts[name] === undefined ? '' : ` ${counts[name]}`}`;
        return (
          <li key={name} aria-current={index === at ? 'step' : undefined}>
            {isBroken ? (
              <Mark shape="cross" tone="bad" word={word} />
            ) : index < at ? (
              <Mark shape="check" tone="good" word={word} />
            ) : index === at ? (
              <Mark shape="half" tone="busy" word={word} />
            ) : (
              <Mark shape="ring" tone="faint" word={word} />
            )}
          </li>
        );
      })}
    </ol>
  );
}
