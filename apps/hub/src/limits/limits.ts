import { explain, type FleetLimits, FleetLimitsName } from '@flotilla/api/ran';
import { readLimits } from '@flotilla/rollout';
import type { EventRecorder, Logger } from '@flotilla/runtime';
import type { HubCaches } from '../caches.ts';

/** Dependencies of `Limits`. */
interface LimitsDeps {
  readonly caches: Pick<HubCaches, 'limits'>;
  /** Limits by options, where no ConfigMap says others. */
  readonly options: FleetLimits;
  readonly namespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}

/** Limits that count now. Absent, with a problem: nobody has read them since the start, so nothing begins. */
interface LimitsNow {
  readonly limits?: FleetLimits | undefined;
  /** The ConfigMap cannot be used as it is. */
  readonly problem?: string | undefined;
}

/** The limits of the fleet: those of the ConfigMap, or of this hub's options where there is none. One that cannot be read keeps the last. */
export class Limits {
  readonly #deps: LimitsDeps;
  #now: LimitsNow = {};

  /** Reads them from a filled cache, and again with each change. */
  constructor(deps: LimitsDeps) {
    this.#deps = deps;
    this.#read();
    deps.caches.limits.subscribe(() => this.#read());
  }

  get now(): LimitsNow {
    return this.#now;
  }

  #read(): void {
    const { caches, options, namespace, recorder, logger } = this.#deps;
    const name = FleetLimitsName.configMap;
    const found = caches.limits.get({ namespace, name });
    const { limits, problem } = found ? readLimits(found.data ?? {}) : { limits: options };
    // A ConfigMap that goes takes its limits with it.
    this.#now = problem === undefined ? { limits } : { limits: this.#now.limits, problem };
    if (problem === undefined) {
      logger.info({ limits, by: found ? `ConfigMap ${namespace}/${name}` : 'options' }, 'Limits of the fleet');
      return;
    }
    logger.warn({ problem, keeps: this.#now.limits !== undefined }, 'Limits of the fleet cannot be read');
    const regarding = { apiVersion: 'v1', kind: 'ConfigMap', name, namespace, uid: found?.metadata.uid };
    recorder.record({ type: 'Warning', reason: 'InvalidLimits', action: 'ReadLimits', note: explain('InvalidLimits', problem), regarding });
  }
}
