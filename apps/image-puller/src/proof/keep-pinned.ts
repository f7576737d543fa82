import { errorMessage } from '@flotilla/api';
import type { Logger } from '@flotilla/runtime';
import type { PullName } from '@flotilla/software';
import type { Config } from '../config.ts';
import type { Progress } from '../progress/progress.ts';
import type { ImageStore } from '../pull/store.ts';

/** Dependencies of `keepPinned`. */
interface PinningDeps {
  readonly config: Pick<Config, 'pinFor' | 'pinBy'>;
  readonly progress: Progress;
  readonly logger: Logger;
}

/**
 * Pins what is there, where it is asked for, and removes pins that nobody renewed. A failure is said and fails nothing: the images are there all the
 * same, and headroom keeps them.
 */
export async function keepPinned(store: ImageStore, names: readonly PullName[], deps: PinningDeps): Promise<void> {
  const { config, progress, logger } = deps;
  try {
    await store.pins?.removeExpired();
    if (config.pinFor === undefined || config.pinBy !== 'runtime') return;
    const pinned =
      (await store.pins?.pin(
        names.map(({ pullSpec }) => pullSpec),
        config.pinFor,
      )) ?? 0;
    progress.pinnedAre(pinned);
    if (pinned < names.length) progress.risksAre([{ name: 'pins', value: unpinnedIn(store, pinned, names.length) }]);
    logger.info({ pinned, names: names.length }, 'Pinned');
  } catch (error) {
    if (config.pinFor !== undefined) progress.risksAre([{ name: 'pins', value: errorMessage(error).slice(0, 128) }]);
    logger.warn({ err: errorMessage(error) }, 'Pinning failed');
  }
}

const unpinnedIn = ({ description }: ImageStore, pinned: number, names: number): string =>
  (pinned === 0 ? `none: ${description} pins nothing` : `${pinned} of ${names}`).slice(0, 128);
