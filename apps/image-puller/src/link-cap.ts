import { join } from 'node:path';
import { errorMessage } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { BANDWIDTH_KEY, LEAST_BANDWIDTH, parseBandwidth, SpokeName } from '@flotilla/api/ran';
import { BandwidthLimit, type Clock, pause } from '@flotilla/pace';
import type { Client, Logger } from '@flotilla/runtime';
import { readSmallFile } from './small-file.ts';

/** The cap of the link for all that is read from registries. It may come, change and go while a run lasts. */
export type LinkCap = Pick<BandwidthLimit, 'bytesPerSecond' | 'take'>;

/** Milliseconds between two readings of the hub's cap. */
const EVERY_MS = 3_000;
const CALL_MS = 2_500;

/** Dependencies of `followCap`. */
interface FollowCap {
  /** Cap of the Job itself, for as long as it runs; the smaller counts. */
  readonly bytesPerSecond: number | undefined;
  /** Returns the text of the hub's cap; undefined where it has handed out none. */
  readonly read: (signal: AbortSignal) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** Reads the cap, and then again until the signal aborts. One that cannot be read stays as it was. */
export async function followCap({ bytesPerSecond: own, read, clock, signal, logger }: FollowCap): Promise<LinkCap> {
  const cap = new BandwidthLimit(own, clock);
  let isTold = false;
  let isFirst = true;
  const look = async (): Promise<void> => {
    try {
      const { bytesPerSecond, problem } = parseBandwidth(`key ${BANDWIDTH_KEY}`, (await read(signal))?.trim());
      if (problem !== undefined) throw new Error(problem);
      const least = Math.min(own ?? Number.POSITIVE_INFINITY, bytesPerSecond ?? Number.POSITIVE_INFINITY);
      const next = Number.isFinite(least) ? least : undefined;
      if (next !== cap.bytesPerSecond) logger.info({ bytesPerSecond: next, before: cap.bytesPerSecond }, 'The cap has changed');
      cap.bytesPerSecond = next;
      isTold = false;
    } catch (error) {
      if (!isTold && !signal.aborted) logger.warn({ err: errorMessage(error) }, 'Reading the cap failed; the last one counts');
      isTold = true;
      // There is one, and no last one: the least there is harms no link.
      if (isFirst) cap.bytesPerSecond ??= LEAST_BANDWIDTH;
    }
    isFirst = false;
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      await pause(clock, EVERY_MS, signal);
      if (!signal.aborted) await look();
    }
  };
  await look();
  void keep();
  return cap;
}

/**
 * Reads the hub's cap from ConfigMap `pre-cache-spec`: by the API, because a kubelet brings a change into the file after a minute and more, and from the
 * file as long as the API gives none. From then on the file would only be older.
 */
export function capReader(dir: string, cluster: Client | undefined, namespace: string): FollowCap['read'] {
  let isAnswered = false;
  return async (signal) => {
    try {
      const found = await cluster?.get(ConfigMap, { namespace, name: SpokeName.specConfigMap }, { signal, timeoutMs: CALL_MS });
      isAnswered ||= found !== undefined;
      if (found) return found.data?.[BANDWIDTH_KEY];
    } catch (error) {
      if (isAnswered) throw error;
    }
    if (isAnswered) throw new Error(`ConfigMap ${SpokeName.specConfigMap} is gone`);
    return readSmallFile(join(dir, BANDWIDTH_KEY), 'CONFIG_VOLUME_PATH');
  };
}
