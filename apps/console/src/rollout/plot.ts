import { bytes } from '@flotilla/api/units';
import uPlot from 'uplot';
import { clock } from '../words/age.tsx';

/** A plot in the page. */
export interface Drawing {
  /** @param times seconds since the epoch @param limit a line at the value where it ends */
  show(times: readonly number[], values: readonly number[], limit: number | undefined): void;
  end(): void;
}

const HEIGHT = 120;
/** Seconds that a plot shows at least: fewer would show steps, not a course. */
const SHORTEST_S = 60;

/** Draws a plot into an element, in the colours that the page has at the time. */
export function draw(into: HTMLElement, unit: 'bytes' | 'count'): Drawing {
  const style = getComputedStyle(into);
  const colour = (name: string): string => style.getPropertyValue(name).trim() || style.color;
  const axis = {
    stroke: colour('--plot-text'),
    grid: { stroke: colour('--plot-grid'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui',
  };
  const shown = (value: number): string => (unit === 'bytes' ? bytes(value) : String(value));
  const plot = new uPlot(
    {
      width: into.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 26, 0, 0],
      scales: {
        x: { time: true, range: (_, min, max) => [Math.min(min, max - SHORTEST_S), max] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
      },
      axes: [
        { ...axis, size: 22, space: 110, values: (_, splits) => splits.map((at) => clock(at * 1000)) },
        {
          ...axis,
          size: 62,
          space: 34,
          values: (_, splits) => splits.map((value) => (unit === 'count' && value % 1 !== 0 ? '' : shown(value))),
        },
      ],
      series: [
        {},
        { stroke: colour('--plot-line'), width: 1.5, fill: colour('--plot-fill'), points: { show: false } },
        { stroke: colour('--plot-text'), width: 1, dash: [4, 4], points: { show: false } },
      ],
    },
    [[], [], []],
    into,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: into.clientWidth, height: HEIGHT }));
  observer.observe(into);
  return {
    show: (times, values, limit) => plot.setData([[...times], [...values], times.map(() => limit ?? null)]),
    end: () => {
      observer.disconnect();
      plot.destroy();
    },
  };
}
