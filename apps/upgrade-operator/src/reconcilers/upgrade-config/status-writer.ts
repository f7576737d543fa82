import { FlotillaError, mergePatch } from '@flotilla/api';
import { UpgradeConfig, type UpgradeConfigStatus } from '@flotilla/api/managed';
import { type Client, isNotFound, type RefusedValues, SentStatus, type WatchCache, writeTaken } from '@flotilla/runtime';

/** The UpgradeConfig of a pass is gone, or its name is another's by now: the pass ends. Code `FLOTILLA_UPGRADE_CONFIG_GONE`. */
export class UpgradeConfigGoneError extends FlotillaError {
  constructor(options?: { readonly cause: unknown }) {
    super('FLOTILLA_UPGRADE_CONFIG_GONE', 'the UpgradeConfig was deleted', options);
  }
}

interface StatusWriterDeps {
  readonly client: Pick<Client, 'get' | 'patch'>;
  readonly cache: Pick<WatchCache<UpgradeConfig>, 'wrote'>;
  /** Values that the server refuses, which are left out of the status. */
  readonly refused: RefusedValues;
}

/** Writes the status of the UpgradeConfig, and remembers what the server's definition of the kind refuses. */
export class StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #sent = new SentStatus();

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Writes the status where it differs from what is stored, whatever became of the spec meanwhile: nobody else writes it.
   * @returns the object as stored; undefined when there was nothing to write
   * @throws UpgradeConfigGoneError
   */
  async write(stored: UpgradeConfig, status: UpgradeConfigStatus, signal: AbortSignal): Promise<UpgradeConfig | undefined> {
    const { cache, refused } = this.#deps;
    return writeTaken(status, refused, async (taken) => {
      if (mergePatch(stored.status ?? {}, taken) === undefined || this.#sent.isLast(stored, taken)) return undefined;
      const written = await this.#replace(stored, taken, signal);
      this.#sent.note(written, taken);
      cache.wrote(written);
      return written;
    });
  }

  async #replace({ metadata }: UpgradeConfig, status: UpgradeConfigStatus, signal: AbortSignal): Promise<UpgradeConfig> {
    const { client } = this.#deps;
    const { namespace, name, uid } = metadata;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/status', value: status },
    ];
    try {
      return await client.patch(UpgradeConfig, { namespace, name }, patch, { type: 'json', subresource: 'status', signal });
    } catch (cause) {
      signal.throwIfAborted();
      // The server refuses another uid and a wrong value alike, so a read tells them apart.
      const isGone = isNotFound(cause) || (await client.get(UpgradeConfig, { namespace, name }, { signal }))?.metadata.uid !== uid;
      throw isGone ? new UpgradeConfigGoneError({ cause }) : cause;
    }
  }
}
