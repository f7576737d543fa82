import { spokePath } from '../address.ts';
import { safeText } from '../words/safe-text.ts';
import type { Column } from './grid.tsx';

/** The name of a spoke, which leads to its page. */
export const nameColumn: Column<{ readonly key: string }> = {
  name: 'name',
  title: 'Spoke',
  value: ({ key }) => key,
  cell: ({ key }, isActive) => (
    <a href={spokePath(key)} tabIndex={isActive ? 0 : -1}>
      {key}
    </a>
  ),
};

/** A row that waits for something; `upgrade` is null for one of no upgrade. */
interface Waiting {
  readonly key: string;
  readonly says: string | null;
  readonly upgrade?: string | null;
}

/** The cause of a row, which leads to the whole chain; `done` has one too. */
export const causeColumn = <R extends Waiting>(
  href: (changes: Readonly<Record<string, string>>) => string,
  asOf: (row: R) => string | undefined,
): Column<R> => ({
  name: 'cause',
  title: 'Cause',
  value: ({ says }) => says,
  cell: ({ key, upgrade, says }, isActive) => {
    if (upgrade === null) return '–';
    const shown = says === null ? 'nothing: it is done' : safeText(says);
    return (
      <a class="cause" href={href({ why: key })} tabIndex={isActive ? 0 : -1} aria-label={`Why ${key}: ${shown}`} title={shown}>
        {says === null ? '–' : shown}
      </a>
    );
  },
  asOf,
});
