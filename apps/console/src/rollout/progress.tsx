import type { UpgradeRow } from '@flotilla/api/answers';
import { bytes } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Sample } from '../connection/history.ts';
import { Export } from '../export/export.tsx';
import { Table } from '../table/table.tsx';
import { clock } from '../words/age.tsx';
import { useWorld } from '../world-context.ts';
import type { Drawing } from './plot.ts';

/** Rows of the table beside the plots. */
const MOST_ROWS = 30;

/** Bytes, rate and spokes over the time for which somebody has looked, as plots and as a table. */
export function Progress({ row }: { readonly row: UpgradeRow }): JSX.Element | null {
  const samples = useWorld().history.value;
  const pulls = samples.filter(({ bytesDone }) => bytesDone !== undefined);
  if (samples.length < 2) return null;
  return (
    <section aria-labelledby="progress-title">
      <header class="head">
        <h2 id="progress-title">
          Progress <small>since this page was opened</small>
        </h2>
        <Export
          name={`progress of ${row.key.replace('/', ' ')}`}
          titles={TITLES}
          rows={() => samples.map(cellsOf)}
          objects={() => samples}
        />
      </header>
      <div class="plots">
        {pulls.length > 1 && (
          <>
            <Plot
              title="Bytes cached"
              unit="bytes"
              samples={pulls}
              line={({ bytesDone }) => bytesDone ?? 0}
              limit={pulls.at(-1)?.bytesTotal}
            />
            <Plot
              title="Bytes a second"
              unit="bytes"
              samples={pulls}
              line={({ bytesPerSecond }) => bytesPerSecond ?? 0}
              present={row.cached?.pulling === 0 ? 0 : undefined}
            />
          </>
        )}
        <Plot title="Spokes done" unit="count" samples={samples} line={({ done }) => done} limit={row.clusters.total} />
      </div>
      <details>
        <summary>The same as a table</summary>
        <Table label="progress-title" heads={TITLES} numbers={TITLES}>
          {thinned(samples).map((sample) => (
            <tr key={sample.at}>
              <td class="number">{clock(sample.at)}</td>
              <td class="number">{sample.done}</td>
              <td class="number">{sample.failed}</td>
              <td class="number">{sample.cached}</td>
              <td class="number">{shown(sample.bytesDone)}</td>
              <td class="number">{sample.bytesPerSecond === undefined ? '–' : `${bytes(sample.bytesPerSecond)}/s`}</td>
            </tr>
          ))}
        </Table>
      </details>
    </section>
  );
}

const TITLES = ['Time', 'Done', 'Failed', 'Cached', 'Bytes', 'Rate'] as const;
const cellsOf = ({ at, done, failed, cached, bytesDone, bytesPerSecond }: Sample) => [
  new Date(at).toISOString(),
  done,
  failed,
  cached,
  bytesDone ?? null,
  bytesPerSecond ?? null,
];
const shown = (count: number | undefined): string => (count === undefined ? '–' : bytes(count));

/** The latest first, evenly spread. */
const thinned = (samples: readonly Sample[]): readonly Sample[] => {
  const every = Math.ceil(samples.length / MOST_ROWS);
  return samples.toReversed().filter((_, index) => index % every === 0);
};

interface PlotProps {
  readonly title: string;
  readonly unit: 'bytes' | 'count';
  readonly samples: readonly Sample[];
  readonly line: (sample: Sample) => number;
  /** Where the line ends. */
  readonly limit?: number | undefined;
  /** Present value, where the last sample has another. */
  readonly present?: number | undefined;
}

/** A small plot, whose code comes when the first one is shown. */
function Plot({ title, unit, samples, line, limit, present }: PlotProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Drawing>();
  useEffect(() => {
    let made: Drawing | undefined;
    let isGone = false;
    void import('./plot.ts').then(({ draw }) => {
      if (isGone || !box.current) return;
      made = draw(box.current, unit);
      setDrawing(made);
    });
    return () => {
      isGone = true;
      made?.end();
    };
  }, [unit]);
  useEffect(
    () =>
      drawing?.show(
        samples.map(({ at }) => at / 1000),
        samples.map(line),
        limit,
      ),
    [drawing, samples, limit],
  );
  const last = samples.at(-1);
  const now = present ?? (last === undefined ? 0 : line(last));
  const says = unit === 'bytes' ? bytes(now) : String(now);
  const of = limit === undefined ? '' : ` of ${unit === 'bytes' ? bytes(limit) : limit}`;
  return (
    <figure class="plot">
      <figcaption>
        {title}{' '}
        <strong>
          {says}
          {of}
        </strong>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${says}${of} now`} />
    </figure>
  );
}
