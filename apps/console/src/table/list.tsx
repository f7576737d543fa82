import type { ComponentChildren, JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { useFilters } from '../address.ts';
import { Export } from '../export/export.tsx';
import { Grid, type GridProps, type RowsOptions, useRows } from './grid.tsx';

interface ListProps<R extends { readonly key: string }> extends RowsOptions<R>, Pick<GridProps<R>, 'choice'> {
  readonly title: string;
  /** Beginning of the id of the title, and end of the class that lays out the columns. */
  readonly id: string;
  /** Default: the title. */
  readonly label?: string;
  readonly all: readonly R[];
  /** Their number is known; default true. */
  readonly isKnown?: boolean;
  /** Name of the files that it is saved to; default: the id. */
  readonly file?: string;
  /** Address of a row. */
  readonly pathOf: (key: string) => string;
  /** Said where there are none, and where the filters leave none. */
  readonly none: readonly [string, string];
  /** Offers about rows; default none. */
  readonly offers?: ComponentChildren;
  /** Absent where there is nothing to part or to save. */
  readonly filters: ComponentChildren;
}

/** A list of any length: how long it is, its filters, and the way to take along what they leave. Rows of rank 0 stand out. */
export function List<R extends { readonly key: string }>(props: ListProps<R>): JSX.Element {
  const { title, id, all, isKnown = true, file = id, pathOf, none, offers, filters, ...grid } = props;
  const { columns, rank } = grid;
  const { route } = useLocation();
  const rows = useRows(all, grid);
  return (
    <section class="table" aria-labelledby={`${id}-title`}>
      <header class="head">
        <h2 id={`${id}-title`}>{title}</h2>
        {isKnown && (
          <p class="count">
            {rows.length === all.length ? all.length.toLocaleString() : `${rows.length.toLocaleString()} of ${all.length.toLocaleString()}`}
          </p>
        )}
        {filters && (
          <Export
            name={file}
            titles={columns.map((column) => column.title)}
            rows={() => rows.map((row) => columns.map(({ value }) => value(row)))}
            objects={() => rows}
          />
        )}
        {offers}
        {filters && <search class="filters">{filters}</search>}
      </header>
      <Grid
        label={title}
        layout={`of-${id}`}
        {...grid}
        rows={rows}
        isBad={(row) => rank(row) === 0}
        open={({ key }) => route(pathOf(key))}
        empty={none[all.length === 0 ? 0 : 1]}
      />
    </section>
  );
}

interface FindProps {
  readonly says: string;
  readonly placeholder: string;
  /** Part of the address that holds the text. */
  readonly by: string;
}

/** A filter by text. */
export function Find({ says, placeholder, by }: FindProps): JSX.Element {
  const { query, set } = useFilters();
  return (
    <label>
      <span class="hidden">{says}</span>
      <input
        type="search"
        placeholder={placeholder}
        value={query[by] ?? ''}
        onInput={({ currentTarget }) => set({ [by]: currentTarget.value || undefined }, query[by] !== undefined)}
      />
    </label>
  );
}

interface ChooseProps {
  readonly title: string;
  /** Part of the address that holds the choice. */
  readonly by: string;
  /** Values and their words */
  readonly of: readonly (readonly [value: string, word: string])[];
}

/** A filter by choice. */
export function Choose({ title, by, of }: ChooseProps): JSX.Element {
  const { query, set } = useFilters();
  return (
    <label>
      {title}{' '}
      <select value={query[by] ?? ''} onChange={({ currentTarget }) => set({ [by]: currentTarget.value || undefined })}>
        <option value="">any</option>
        {of.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
