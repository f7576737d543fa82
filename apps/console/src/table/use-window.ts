import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks';

/** Rows of a long list that are drawn. */
interface Window {
  readonly items: readonly VirtualItem[];
  readonly height: number;
  readonly scrollTo: (index: number) => void;
}

interface WindowOptions {
  readonly count: number;
  readonly rowHeight: number;
  /** Height of what stays above the rows. */
  readonly headHeight: number;
  /** A row that stays drawn wherever the list is: it has the focus. */
  readonly kept: number;
  /** Where the list begins. */
  readonly top: number;
  readonly scroller: RefObject<HTMLElement | null>;
}

const OVERSCAN = 8;
/** A list whose style has not arrived yet is as high as all its rows: so many of them are drawn at most. */
const MOST_DRAWN = 120;

/** Draws the rows around the place that a list is scrolled to. */
export function useWindow({ count, rowHeight, headHeight, kept, top, scroller }: WindowOptions): Window {
  const [, redraw] = useReducer((drawn: number, _change: undefined) => drawn + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    initialOffset: top,
    scrollPaddingStart: headHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
    rangeExtractor: (range: Parameters<typeof defaultRangeExtractor>[0]) => {
      const shown = defaultRangeExtractor(range).slice(0, MOST_DRAWN);
      return kept < 0 || kept >= count || shown.includes(kept) ? shown : [...shown, kept].toSorted((a, b) => a - b);
    },
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    scrollTo: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }),
  };
}

/** A place in a list. */
interface Place {
  readonly top: number;
  readonly active: string;
}

/** Places by list and address, as long as the page is open. */
const places = new Map<string, Place>();
const keyOf = (label: string): string => `${label} ${location.pathname}${location.search}`;

/** The key of the active row, and where a list begins: whoever comes back finds it where it was left. */
export function usePlace(label: string, scroller: RefObject<HTMLElement | null>) {
  const [before] = useState(() => places.get(keyOf(label)));
  const [active, setActive] = useState(before?.active ?? '');
  useEffect(() => {
    const list = scroller.current;
    const note = (): void => void places.set(keyOf(label), { top: list?.scrollTop ?? 0, active });
    if (active !== '') note();
    list?.addEventListener('scroll', note);
    return () => list?.removeEventListener('scroll', note);
  }, [label, active]);
  return { active, setActive, top: before?.top ?? 0 };
}
