import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

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
