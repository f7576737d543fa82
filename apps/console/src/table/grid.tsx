import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { useFilters } from '../address.ts';
import { useWindow } from './use-window.ts';

/** A column of a grid. */
export interface Column<R> {
  readonly name: string;
  readonly title: string;
  readonly cell: (row: R, isActive: boolean) => ComponentChildren;
  /** By which rows are put in order; a column without is not sorted by. */
  readonly sortBy?: (row: R) => string | number;
}

interface GridProps<R> {
  readonly label: string;
  /** Class that lays out the columns. */
  readonly layout: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  /** Where Enter leads. */
  readonly open: (row: R) => void;
  readonly empty: string;
}

const ROW_HEIGHT = 32;

/**
 * A table of any length, of which the rows in sight are drawn. Arrows move the active row. The focus stays on the table: a row that is drawn
 * anew would lose it.
 */
export function Grid<R extends { readonly key: string }>({ label, layout, columns, rows: given, open, empty }: GridProps<R>): JSX.Element {
  const { query, set } = useFilters();
  // Scrolling draws the table again and again, with the same rows.
  const rows = useMemo(() => inOrder(given, columns, query.sort), [given, query.sort]);
  const [active, setActive] = useState('');
  const scroller = useRef<HTMLDivElement>(null);
  const at = Math.max(
    rows.findIndex(({ key }) => key === active),
    0,
  );
  const { items, height, scrollTo } = useWindow({ count: rows.length, rowHeight: ROW_HEIGHT, headHeight: ROW_HEIGHT, kept: at, scroller });

  const activeRow = rows[at];
  const idOf = ({ key }: R): string => `${layout}-${key}`;

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const page = Math.max(Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2, 1);
    const next = movedBy(event.key, { at, page, last: rows.length - 1 });
    const row = rows[next ?? at];
    const isOpened = event.key === 'Enter' && event.target === event.currentTarget;
    if (!row || (next === undefined && !isOpened)) return;
    event.preventDefault();
    if (next === undefined) return open(row);
    setActive(row.key);
    scrollTo(next);
  };

  return (
    <div
      ref={scroller}
      class={`grid ${layout}`}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={activeRow && idOf(activeRow)}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div class="head" role="rowgroup">
        <div class="row" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <Heading key={column.name} column={column} sort={query.sort} onSort={(sort) => set({ sort })} />
          ))}
        </div>
      </div>
      <div class="rows" role="rowgroup" style={{ height: `${height}px` }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const isActive = index === at;
          return (
            <div
              key={row.key}
              id={idOf(row)}
              class={isActive ? 'row active' : 'row'}
              role="row"
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
              onFocusIn={() => setActive(row.key)}
              onPointerDown={() => setActive(row.key)}
            >
              {columns.map(({ name, cell }) => (
                <div key={name} role="gridcell">
                  {cell(row, isActive)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </div>
  );
}

interface HeadingProps<R> {
  readonly column: Column<R>;
  readonly sort: string | undefined;
  readonly onSort: (sort: string | undefined) => void;
}

function Heading<R>({ column: { name, title, sortBy }, sort, onSort }: HeadingProps<R>): JSX.Element {
  if (!sortBy) return <div role="columnheader">{title}</div>;
  const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  const next = order === 'ascending' ? `-${name}` : order === 'descending' ? undefined : name;
  return (
    <div role="columnheader" aria-sort={order ?? 'none'}>
      <button type="button" class="sort" onClick={() => onSort(next)}>
        {title}
        <span aria-hidden="true">{order === 'ascending' ? ' ▲' : order === 'descending' ? ' ▼' : ''}</span>
      </button>
    </div>
  );
}

interface Place {
  readonly at: number;
  readonly page: number;
  readonly last: number;
}

/** The row that a key leads to; undefined for a key that leads nowhere. */
function movedBy(key: string, { at, page, last }: Place): number | undefined {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[key];
  return to === undefined ? undefined : Math.min(Math.max(to, 0), last);
}

function inOrder<R extends { readonly key: string }>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  sort: string | undefined,
): readonly R[] {
  const by = columns.find(({ name }) => name === sort?.replace(/^-/, ''))?.sortBy;
  const sign = sort?.startsWith('-') ? -1 : 1;
  const byKey = (a: R, b: R): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  if (!by) return rows.toSorted(byKey);
  const valued = rows.map((row) => [by(row), row] as const);
  return valued.toSorted(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : byKey(x, y))).map(([, row]) => row);
}
