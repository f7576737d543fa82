import { duration } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { upgradePath, useFilters } from '../address.ts';
import { minute, useNow } from '../words/age.tsx';
import { useWorld } from '../world-context.ts';
import { type Span, spansOf } from './matter.ts';

const HOUR_MS = 3_600_000;
const SHORTEST_MS = 4 * HOUR_MS;
const LONGEST_MS = 14 * 24 * HOUR_MS;
const STEPS_H = [1, 2, 4, 6, 12, 24, 48, 96];
/** Marks of the scale at most. */
const MOST_MARKS = 8;

/** Lanes that are drawn until somebody asks for all. */
const MOST_LANES = 8;

/** Windows that matter most on one line of time, and whether they fit. */
export function Timeline(): JSX.Element | null {
  const { upgrades } = useWorld();
  const now = useNow();
  const { query, href } = useFilters();
  const all = spansOf(upgrades.values(), now);
  if (all.length === 0) return null;
  const isWhole = query.windows === 'all';
  const spans = isWhole ? all : all.slice(0, MOST_LANES);
  return (
    <section aria-labelledby="timeline-title">
      <h2 id="timeline-title">Windows</h2>
      <div class="timeline">
        <Lanes
          spans={spans}
          names={spans.map(({ row: { key } }) => (
            <a href={upgradePath(key)} title={key}>
              {key}
            </a>
          ))}
        />
        {all.length > MOST_LANES && (
          <a href={href({ windows: isWhole ? undefined : 'all' })}>
            {isWhole ? `The first ${MOST_LANES} alone` : `${all.length - MOST_LANES} more, which open later`}
          </a>
        )}
      </div>
    </section>
  );
}

interface LanesProps {
  readonly spans: readonly (Span | undefined)[];
  /** Stands before each. */
  readonly names: readonly JSX.Element[];
}

/** Windows below each other on one line of time; one that is none is open at any time. */
export function Lanes({ spans, names }: LanesProps): JSX.Element {
  const now = useNow();
  const marks = spans.flatMap((span) => (span ? [span.from, span.to ?? span.from, span.endsAt ?? span.from] : []));
  const end = Math.min(Math.max(now + SHORTEST_MS, ...marks) + HOUR_MS / 2, now + LONGEST_MS);
  const begin = now - (end - now) / 40;
  const place = (at: number): number => (100 * (Math.min(Math.max(at, begin), end) - begin)) / (end - begin);
  const between = (from: number, to = end) => ({ left: `${place(from)}%`, width: `${place(to) - place(from)}%` });
  return (
    <>
      <ol class="scale" aria-hidden="true">
        {scaleOf(now, end).map((at) => (
          <li key={at} style={{ left: `${place(at)}%` }}>
            {minute(at, now)}
          </li>
        ))}
      </ol>
      <ul>
        {spans.map((span, index) => (
          <li key={index}>
            {names[index]}
            <span class="lane" aria-hidden="true">
              <span class="now" style={{ left: `${place(now)}%` }} />
              <span class={span?.to === undefined ? 'open endless' : 'open'} style={between(span?.from ?? now, span?.to)} />
              {span?.endsAt !== undefined && (
                <span
                  class={span.ends?.fitsWindow === false ? 'work late' : 'work'}
                  style={between(Math.max(now, span.from), span.endsAt)}
                />
              )}
            </span>
            <span class="fit">{span ? wordsOf(span, now) : 'batches start at any time'}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The picture in words, for everybody. */
function wordsOf({ window, ends, from, to, endsAt }: Span, now: number): string {
  const opens = window.state === 'open' ? 'open now' : `opens ${minute(from, now)}`;
  const closes =
    to === undefined
      ? 'nothing closes it'
      : `closes ${minute(to, now)} (${duration((to - from) / 1000)}${window.state === 'open' ? ' left' : ''})`;
  if (ends === undefined) return `${opens}, ${closes}`;
  const fits =
    endsAt === undefined
      ? 'whether it fits is known when a batch has ended'
      : `${ends?.seconds.certainty === 'at-most' ? 'times out' : 'ends ~'} ${minute(endsAt, now)}${ends?.fitsWindow === true ? ': fits' : ends?.fitsWindow === false ? ': does not fit' : ''}`;
  return `${opens}, ${closes}, ${fits}`;
}

/** Round hours of the viewer's clock. */
function scaleOf(now: number, end: number): number[] {
  const hours = (end - now) / HOUR_MS;
  const step = STEPS_H.find((each) => hours / each <= MOST_MARKS) ?? 96;
  const first = new Date(now);
  first.setMinutes(0, 0, 0);
  const times: number[] = [];
  // The last one has room for its text.
  for (let at = first.getTime(); at < end - (end - now) / MOST_MARKS; at += HOUR_MS)
    if (at > now && new Date(at).getHours() % Math.min(step, 24) === 0) times.push(at);
  return times.filter((_, index) => index % Math.max(step / 24, 1) === 0);
}
