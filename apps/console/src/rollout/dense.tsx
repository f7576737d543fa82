import type { MemberRow, SpokeState } from '@flotilla/api/answers';
import type { JSX, TargetedPointerEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { spokePath } from '../address.ts';
import { spokeWord } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';

/** Squares that are drawn; for more of them the table alone is of use. */
const MOST = 6_000;
const MANY = 800;

/** Shape of each state in a square of side s: told apart without colours. */
const SHAPES: Readonly<Record<SpokeState, (x: number, y: number, s: number) => string>> = {
  done: (x, y, s) => `M${x} ${y}h${s}v${s}h${-s}z`,
  'in-batch': (x, y, s) => `M${x} ${y}h${s}v${s}h${-s}z M${x + 1} ${y + 1}v${s - 2}h${s - 2}z`,
  waiting: (x, y, s) => `M${x} ${y}h${s}v${s}h${-s}z M${x + 1} ${y + 1}v${s - 2}h${s - 2}v${-(s - 2)}z`,
  failed: (x, y, s) =>
    `M${x} ${y}h2.5l${s / 2 - 2.5} ${s / 2 - 2.5} ${s / 2 - 2.5} ${-(s / 2 - 2.5)}h2.5v2.5l${-(s / 2 - 2.5)} ${s / 2 - 2.5} ${s / 2 - 2.5} ${s / 2 - 2.5}v2.5h-2.5l${-(s / 2 - 2.5)} ${-(s / 2 - 2.5)} ${-(s / 2 - 2.5)} ${s / 2 - 2.5}h-2.5v-2.5l${s / 2 - 2.5} ${-(s / 2 - 2.5)} ${-(s / 2 - 2.5)} ${-(s / 2 - 2.5)}z`,
  none: (x, y, s) => `M${x} ${y + s / 2 - 1}h${s}v2h${-s}z`,
};
const STATES: readonly SpokeState[] = ['done', 'in-batch', 'waiting', 'failed', 'none'];

/** Every spoke of an upgrade as a square, in the order of the batches. The table below has the same for those who do not see it. */
export function Dense({ members }: { readonly members: readonly MemberRow[] }): JSX.Element | null {
  const { route } = useLocation();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  const isThere = members.length > 1 && members.length <= MOST;
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isThere]);
  if (!isThere) return null;
  const side = members.length > MANY ? 7 : 11;
  const step = side + 2;
  const columns = Math.max(Math.floor((width + 2) / step), 1);
  const height = Math.ceil(members.length / columns) * step;
  const paths = pathsOf(members, { columns, step, side });
  const indexOf = ({ offsetX, offsetY }: TargetedPointerEvent<SVGSVGElement>): number | undefined => {
    const [column, line] = [Math.floor(offsetX / step), Math.floor(offsetY / step)];
    const index = line * columns + column;
    return column < columns && index < members.length ? index : undefined;
  };
  return (
    <section aria-labelledby="dense-title">
      <h2 id="dense-title">
        Every spoke <small>{members.length.toLocaleString()}, in the order of the batches</small>
      </h2>
      <div ref={box} class="dense">
        {width > 0 && (
          <svg
            role="img"
            aria-label={countsOf(members)}
            width={width}
            height={height}
            onPointerMove={(event) => setAt(indexOf(event))}
            onPointerLeave={() => setAt(undefined)}
            onPointerUp={(event) => {
              const member = members[indexOf(event) ?? -1];
              if (member) route(spokePath(member.key));
            }}
          >
            {STATES.map((state) => (
              <path key={state} class={state} fill-rule="evenodd" d={paths[state].join('')} />
            ))}
            {at !== undefined && (
              <rect
                class="pointed"
                x={(at % columns) * step - 1}
                y={Math.floor(at / columns) * step - 1}
                width={side + 2}
                height={side + 2}
              />
            )}
          </svg>
        )}
      </div>
      <p class="pointed-says" aria-hidden="true">
        {at !== undefined && members[at] ? <Pointed member={members[at]} /> : <Keys />}
      </p>
    </section>
  );
}

const Pointed = ({ member: { key, batch, state, says } }: { readonly member: MemberRow }): JSX.Element => (
  <>
    <strong>{key}</strong> {batch === null ? '' : `batch ${batch}, `}
    {spokeWord(state)}
    {says !== null && `: ${safeText(says)}`}
  </>
);

/** The meaning of the shapes. */
const Keys = (): JSX.Element => (
  <span class="keys">
    {STATES.slice(0, 4).map((state) => (
      <span key={state}>
        <svg width="9" height="9" aria-hidden="true">
          <path class={state} fill-rule="evenodd" d={SHAPES[state](0, 0, 9)} />
        </svg>{' '}
        {spokeWord(state)}
      </span>
    ))}
  </span>
);

interface Raster {
  readonly columns: number;
  readonly step: number;
  readonly side: number;
}

function pathsOf(members: readonly MemberRow[], { columns, step, side }: Raster): Record<SpokeState, string[]> {
  const parts: Record<SpokeState, string[]> = { done: [], 'in-batch': [], waiting: [], failed: [], none: [] };
  for (const [index, { state }] of members.entries())
    parts[state].push(SHAPES[state]((index % columns) * step, Math.floor(index / columns) * step, side));
  return parts;
}

/** The picture in a sentence. */
function countsOf(members: readonly MemberRow[]): string {
  const counts = Map.groupBy(members, ({ state }) => state);
  return STATES.flatMap((state) => (counts.has(state) ? [`${counts.get(state)?.length} ${spokeWord(state)}`] : [])).join(', ');
}
