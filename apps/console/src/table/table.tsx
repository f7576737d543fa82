import type { ComponentChildren, JSX } from 'preact';

interface TableProps {
  /** Id of its title. */
  readonly label: string;
  readonly heads: readonly string[];
  /** Heads of columns with numbers; default none. */
  readonly numbers?: readonly string[];
  /** Its rows. */
  readonly children: ComponentChildren;
}

/** A table, which may be wider than a narrow page: it can be scrolled, by keyboard too. */
export const Table = ({ label, heads, numbers = [], children }: TableProps): JSX.Element => (
  <div class="scroll" tabIndex={0} role="group" aria-labelledby={label}>
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col" class={numbers.includes(head) ? 'number' : undefined}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
