import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { useFilters } from '../address.ts';
import type { Cell } from '../export/csv.ts';
import { inOrder } from './order.ts';
import { usePlace, useWindow } from './use-window.ts';

/** A column of a grid. */
export interface Column<R> {
  readonly name: string;
  readonly title: string;
  readonly cell: (row: R, isActive: boolean) => ComponentChildren;
  /** Value that an export has. */
  readonly value: (row: R) => Cell;
  /** Value by which rows are put in order; default: the one that an export has. */
  readonly order?: (row: R) => Cell;
  /** Default: numbers by value, texts by letters and numbers. */
  readonly compare?: (a: Cell, b: Cell) => number;
  /** When the cell was known to be so, for whoever points at it. */
  readonly asOf?: (row: R) => string | undefined;
}

/** Rows that somebody has chosen. */
interface Choice {
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (key: string) => void;
  /** Rows that may be chosen: others would be refused. */
  readonly mayChoose: (key: string) => boolean;
}

/** A table of rows. */
export interface GridProps<R> {
  readonly label: string;
  /** Class that lays out the columns. */
  readonly layout: string;
  readonly columns: readonly Column<R>[];
  /** In the order in which they are shown, as `useRows` makes it. */
  readonly rows: readonly R[];
  /** Rows that stand out: those with failures. */
  readonly isBad: (row: R) => boolean;
  /** Where Enter leads. */
  readonly open: (row: R) => void;
  readonly empty: string;
  readonly choice?: Choice;
  /** Part of the address that holds the order; default `sort`. */
  readonly sortedBy?: string;
}

const ROW_HEIGHT = 32;

/**
 * A table of any length, of which the rows in sight are drawn. Arrows move the active row. The focus stays on the table: a row that is drawn
 * anew would lose it.
 */
export function Grid<R extends { readonly key: string }>(props: GridProps<R>): JSX.Element {
  const { label, layout, columns, rows, isBad, open, empty, choice, sortedBy = 'sort' } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { active, setActive, top } = usePlace(label, scroller);
  const at = Math.max(
    rows.findIndex(({ key }) => key === active),
    0,
  );
  const { items, height, scrollTo } = useWindow({
    count: rows.length,
    rowHeight: ROW_HEIGHT,
    headHeight: ROW_HEIGHT,
    kept: at,
    top,
    scroller,
  });

  const activeRow = rows[at];
  const idOf = ({ key }: R): string => `${layout}-${key}`;

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(Math.floor((scroller.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2, 1);
    const next = movedBy(event.key, { at, page, last: rows.length - 1 });
    const row = rows[next ?? at];
    const isOnGrid = event.target === event.currentTarget;
    if (!row) return;
    if (next !== undefined) {
      setActive(row.key);
      scrollTo(next);
    } else if (isOnGrid && event.key === 'Enter') open(row);
    else if (isOnGrid && event.key === ' ' && choice?.mayChoose(row.key)) choice.onChoose(row.key);
    else return;
    event.preventDefault();
  };

  return (
    <div
      ref={scroller}
      class={`grid ${layout}${choice ? ' chosen-from' : ''}`}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-multiselectable={choice ? 'true' : undefined}
      aria-activedescendant={activeRow && idOf(activeRow)}
      tabIndex={0}
      style={{ '--rows': String(Math.max(rows.length, 2)) }}
      onKeyDown={onKeyDown}
    >
      <Headings columns={columns} isChosenFrom={choice !== undefined} sortedBy={sortedBy} />
      <div class="rows" role="rowgroup" style={{ height: `${height}px` }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const isActive = index === at;
          return (
            <div
              key={row.key}
              id={idOf(row)}
              class={`row${isActive ? ' active' : ''}${isBad(row) ? ' bad' : ''}`}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={choice?.chosen.has(row.key)}
              style={{ transform: `translateY(${start}px)` }}
              onFocusIn={() => setActive(row.key)}
              onPointerDown={() => setActive(row.key)}
            >
              {choice && <ChoiceCell {...choice} of={row.key} />}
              {columns.map(({ name, cell, asOf }) => (
                <div key={name} role="gridcell" title={asOf?.(row)}>
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

interface HeadingsProps<R> {
  readonly columns: readonly Column<R>[];
  readonly isChosenFrom: boolean;
  readonly sortedBy: string;
}

function Headings<R>({ columns, isChosenFrom, sortedBy }: HeadingsProps<R>): JSX.Element {
  const { query, set } = useFilters();
  const [at, setAt] = useState(0);
  // All headings are one stop of Tab: arrows lead from one to the next.
  const onKeyDown = ({ key, currentTarget }: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const next = (at + step + columns.length) % columns.length;
    setAt(next);
    currentTarget.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div class="head" role="rowgroup">
      <div class="row" role="row" aria-rowindex={1} onKeyDown={onKeyDown}>
        {isChosenFrom && (
          <div role="columnheader">
            <span class="hidden">Chosen</span>
          </div>
        )}
        {columns.map(({ name, title }, index) => (
          <Heading
            key={name}
            name={name}
            title={title}
            sort={query[sortedBy]}
            isStop={index === at}
            onSort={(sort) => {
              setAt(index);
              set({ [sortedBy]: sort });
            }}
          />
        ))}
      </div>
    </div>
  );
}

const ChoiceCell = ({ of, chosen, onChoose, mayChoose }: Choice & { readonly of: string }): JSX.Element => (
  <div role="gridcell">
    {mayChoose(of) && (
      <input type="checkbox" tabIndex={-1} aria-label={`Choose ${of}`} checked={chosen.has(of)} onChange={() => onChoose(of)} />
    )}
  </div>
);

interface HeadingProps {
  readonly name: string;
  readonly title: string;
  readonly sort: string | undefined;
  /** Tab stops here. */
  readonly isStop: boolean;
  readonly onSort: (sort: string | undefined) => void;
}

function Heading({ name, title, sort, isStop, onSort }: HeadingProps): JSX.Element {
  const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  const next = order === 'ascending' ? `-${name}` : order === 'descending' ? undefined : name;
  return (
    <div role="columnheader" aria-sort={order ?? 'none'}>
      <button type="button" class="sort" tabIndex={isStop ? 0 : -1} onClick={() => onSort(next)}>
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

/** Rows that pass, and their order. */
export interface RowsOptions<R> {
  readonly columns: readonly Column<R>[];
  readonly isWanted: (row: R, query: Readonly<Record<string, string>>) => boolean;
  /** Rows of a lower rank stand first until a column is asked for. */
  readonly rank: (row: R) => number;
  /** Part of the address that holds the order; default `sort`. */
  readonly sortedBy?: string;
}

/** Rows that pass, in the order of the address; scrolling draws a table again and again, with the same rows. */
export function useRows<R extends { readonly key: string }>(all: readonly R[], options: RowsOptions<R>): readonly R[] {
  const { query } = useFilters();
  const { columns, isWanted, rank, sortedBy = 'sort' } = options;
  const asked = JSON.stringify(query);
  return useMemo(() => {
    const passing = all.filter((row) => isWanted(row, query));
    return inOrder(passing, { columns, sort: query[sortedBy], rank });
  }, [all, asked]);
}
