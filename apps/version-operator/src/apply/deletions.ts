import { errorMessage, KubeObject, type Resource, readJson } from '@flotilla/api';
import { VERSION_NAMESPACE } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import type { Client, Logger } from '@flotilla/runtime';
import { z } from 'zod';
import type { Wanted } from '../payload/wanted.ts';
import type { ClusterWriter } from './cluster-writer.ts';

const DELETIONS_NAME = 'flotilla-version-operator-deletions';
const REF = { namespace: VERSION_NAMESPACE, name: DELETIONS_NAME };
const Keys = z.array(z.string().max(1_024)).max(10_000);

interface DeletionsOptions extends Pick<ClusterWriter, 'isObserving'> {
  readonly logger: Logger;
}

/**
 * Deletions of an update, kept in the cluster: an object that somebody makes again afterwards is theirs, even when the operator restarts between.
 * A record that cannot be written holds nothing up: it is written later.
 */
export class Deletions {
  readonly #client: Client;
  readonly #options: DeletionsOptions;
  readonly #keys = new Set<string>();
  #release = '';
  #isRead = false;
  /** The stored record is another than this one. */
  #isBehind = false;
  /** The stored record is of an earlier time at this release, which another one came after. */
  #isOutdated = false;
  #told: string | undefined;

  constructor(client: Client, options: DeletionsOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Begins to apply a release, or goes on. What was deleted for another is forgotten, because this release may bring it back, and an update to
   * the other deletes it again.
   */
  async begin(release: string): Promise<void> {
    if (this.#release !== release) {
      this.#isOutdated = this.#isBehind;
      this.#release = release;
      this.#keys.clear();
      this.#isRead = false;
    }
    await this.#catchUp();
  }

  /** True when this release's object was deleted before. @throws while that cannot be known */
  async has({ key }: Wanted): Promise<boolean> {
    await this.#read();
    return this.#keys.has(key);
  }

  async record({ key }: Wanted): Promise<void> {
    this.#keys.add(key);
    this.#isBehind = true;
    await this.#catchUp();
  }

  /** Reads and writes what is still to be; a failure is logged, and the next pass tries again. */
  async #catchUp(): Promise<void> {
    try {
      await this.#read();
      if (this.#isBehind && !this.#options.isObserving) await this.#store();
      this.#told = undefined;
    } catch (err) {
      const message = errorMessage(err);
      if (this.#told !== message) this.#options.logger.warn({ err, configMap: DELETIONS_NAME }, 'The record of deletions is behind');
      this.#told = message;
    }
  }

  async #read(): Promise<void> {
    if (this.#isRead) return;
    const stored = await this.#client.get(ConfigMap, REF);
    const isOwn = stored?.data?.release === this.#release && !this.#isOutdated;
    if (isOwn) for (const key of Keys.catch([]).parse(readJson(stored?.data?.deleted ?? ''))) this.#keys.add(key);
    this.#isBehind ||= stored !== undefined && !isOwn;
    this.#isRead = true;
  }

  async #store(): Promise<void> {
    const data = { release: this.#release, deleted: JSON.stringify([...this.#keys].sort()) };
    const object = KubeObject.parse({ metadata: REF, data });
    await this.#client.apply(ConfigMap as Resource<ConfigMap>, object, { fieldManager: 'flotilla-version-operator', force: true });
    this.#isBehind = false;
    this.#isOutdated = false;
  }
}
