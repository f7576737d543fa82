import { setTimeout as delay } from 'node:timers/promises';
import { FlotillaError } from '@flotilla/api';
import { AvailabilityProbe } from '../../test/support/availability.ts';
import { EXAMPLE_UPGRADE } from '../../test/support/examples.ts';
import type { Fleet, Site } from '../../test/support/fleet.ts';
import { followRollout } from '../../test/support/rollout-progress.ts';
import { replaceImages } from '../../test/support/workloads.ts';

/** Options of a rollout. */
interface RolloutOptions {
  /** New images by Deployment. */
  readonly images: Readonly<Record<string, string>>;
  /** When the window starts, milliseconds since the epoch. */
  readonly windowStart: number;
  readonly say: (line: string) => void;
  /** Milliseconds for the whole rollout, and for the spoke that was not pre-cached. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
}

/** Time in which a spoke was not fully available in its rollout. */
interface Gap {
  readonly spoke: string;
  readonly isPrecached: boolean;
  readonly seconds: number;
}

/**
 * Follows the rollout of `examples/rollout` batch by batch; the bystander gets the same change by hand when the window starts. Both
 * are watched from their own API servers. Throws `FLOTILLA_DEMO_ROLLOUT` when it does not end well.
 */
export async function rollOut({ hub, spokes, bystander }: Fleet, options: RolloutOptions): Promise<Gap[]> {
  const { images, say, withinMs, signal } = options;
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const probes = spokes.map(({ client }) => new AvailabilityProbe(client));
  const byHand = bystander && changeByHand(bystander, { ...options, signal: both });
  // The first failure is awaited below.
  byHand?.catch(() => undefined);
  try {
    const start = performance.now();
    const onNews = (news: string) => say(`  ${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s  ${news}`);
    const end = await followRollout(hub.client, EXAMPLE_UPGRADE, { onNews, withinMs, signal });
    if (!end.succeeded) throw new FlotillaError('FLOTILLA_DEMO_ROLLOUT', `the rollout ended with: ${end.message}`);
    // The spokes are asked, because the hub hears of them later.
    await Promise.all(probes.map((probe) => probe.untilRunning(images, { withinMs: 10_000, signal })));
    const gaps = spokes.map(({ name }, index) => ({ spoke: name, isPrecached: true, seconds: probes[index]?.seconds ?? 0 }));
    return byHand ? [...gaps, await byHand] : gaps;
  } finally {
    stop.abort();
    await Promise.all(probes.map((probe) => probe[Symbol.asyncDispose]()));
    await byHand?.catch(() => undefined);
  }
}

/** The same change without a hub and without pre-caching, when the window starts. */
async function changeByHand(spoke: Site, { images, windowStart, withinMs, signal }: RolloutOptions): Promise<Gap> {
  await delay(Math.max(0, windowStart - Date.now()), undefined, { signal });
  await using probe = new AvailabilityProbe(spoke.client);
  await replaceImages(spoke, images);
  await probe.untilRunning(images, { withinMs, signal });
  return { spoke: spoke.name, isPrecached: false, seconds: probe.seconds };
}
