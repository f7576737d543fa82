import { KubeObject, type Resource, readJson } from '@flotilla/api';
import { VERSION_NAMESPACE } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import type { Wanted } from '../payload/wanted.ts';
import type { ClusterWriter } from './cluster-writer.ts';

const DELETIONS_NAME = 'flotilla-version-operator-deletions';
const REF = { namespace: VERSION_NAMESPACE, name: DELETIONS_NAME };
const Keys = z.array(z.string().max(1_024)).max(10_000);

/** Deletions of an update, kept in the cluster: an object that somebody makes again afterwards is theirs, even when the operator restarts between. */
export class Deletions {
  readonly #client: Client;
  readonly #isObserving: boolean;
  readonly #keys = new Set<string>();
  #release = '';

  constructor(client: Client, { isObserving }: Pick<ClusterWriter, 'isObserving'>) {
    this.#client = client;
    this.#isObserving = isObserving;
  }

  /**
   * Reads what was deleted for a release, before anything of it is applied. What was deleted for another is forgotten, because this release may
   * bring it back, and an update to the other deletes it again.
   */
  async read(release: string): Promise<void> {
    if (this.#release === release) return;
    const stored = await this.#client.get(ConfigMap, REF);
    const isOther = stored !== undefined && stored.data?.release !== release;
    if (isOther && !this.#isObserving) await this.#store(release, []);
    this.#keys.clear();
    this.#release = release;
    if (isOther) return;
    for (const key of Keys.catch([]).parse(readJson(stored?.data?.deleted ?? ''))) this.#keys.add(key);
  }

  has({ key }: Wanted): boolean {
    return this.#keys.has(key);
  }

  async record({ key }: Wanted): Promise<void> {
    this.#keys.add(key);
    await this.#store(this.#release, [...this.#keys].sort());
  }

  async #store(release: string, deleted: readonly string[]): Promise<void> {
    const data = { release, deleted: JSON.stringify(deleted) };
    const object = KubeObject.parse({ metadata: REF, data });
    await this.#client.apply(ConfigMap as Resource<ConfigMap>, object, { fieldManager: 'flotilla-version-operator', force: true });
  }
}
