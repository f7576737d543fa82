import { Gauge, Registry } from 'prom-client';
import { SERIES_METRICS, type SeriesInput, upgradeSeries } from './upgrade-series.ts';

const HELP = 'Of the upgrade that is asked for; a time in seconds since the epoch, or minutes where the name says so';

/** A registry whose series are computed at each scrape. */
interface UpgradeCollector {
  readonly registry: Registry;
  /** Says where what they are computed from is seen. Before that there are none. */
  readonly lookAt: (look: () => SeriesInput) => void;
}

/** Series of the upgrade that is asked for, from what is watched anyway (spec/muo 10.2): a scrape costs no request. */
export function createUpgradeCollector(): UpgradeCollector {
  const registry = new Registry();
  let look = (): SeriesInput => ({ upgradeConfig: undefined, completed: [] });
  for (const { name, labels } of SERIES_METRICS) {
    const gauge: Gauge = new Gauge({
      name,
      help: HELP,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const series of upgradeSeries(look())) if (series.name === name) gauge.set({ ...series.labels }, series.value);
      },
    });
  }
  return {
    registry,
    lookAt(source) {
      look = source;
    },
  };
}
