import { errorMessage, TerminalError, WaitingError } from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { PrecacheSpecKey, SpokeName } from '@flotilla/api/ran';
import { isTransient } from '@flotilla/registry';
import {
  type Client,
  type Clock,
  type Logger,
  type Metrics,
  type Reconciler,
  type ReconcilerOptions,
  startReconciler,
  WatchCache,
  watch,
} from '@flotilla/runtime';
import type { ReleaseSource } from './retrieve-release.ts';

interface PrefetchOptions {
  readonly client: Client;
  readonly source: ReleaseSource;
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Reads the release that a pre-cache of this cluster is for, with its signatures, so that both are at hand when the link is not. Whoever may write
 * the ConfigMap chooses nothing but when: a release is read that is signed and of the cluster's own repository.
 */
export function startPrefetch({ client, source, onTrouble, logger, metrics, clock, signal }: PrefetchOptions): Reconciler {
  const { namespace, specConfigMap: name } = SpokeName;
  const specs = new WatchCache(client, ConfigMap, { namespace, fieldSelector: `metadata.name=${name}`, logger, metrics, clock });
  return startReconciler({
    name: 'release-prefetch',
    for: watch(specs),
    reconcile: async (_, context) => {
      const image = specs.get({ namespace, name })?.data?.[PrecacheSpecKey.platformImage]?.trim() ?? '';
      // one without a digest is not kept
      if (!image.includes('@')) return {};
      await read(source, image, context.signal);
      context.logger.info({ release: image }, 'The files of a release are at hand');
      return {};
    },
    onTrouble,
    logger,
    metrics,
    clock,
    signal,
  });
}

async function read(source: ReleaseSource, image: string, signal: AbortSignal): Promise<void> {
  try {
    await source.prefetch(image, signal);
  } catch (cause) {
    if (isTransient(cause) || cause instanceof WaitingError) throw cause;
    throw new TerminalError('FLOTILLA_RELEASE_PREFETCH', `${image} cannot be read ahead: ${errorMessage(cause)}`, { cause });
  }
}
