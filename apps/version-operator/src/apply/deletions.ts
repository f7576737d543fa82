import { KubeObject, type Resource } from '@flotilla/api';
import { VERSION_NAMESPACE } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import type { Wanted } from '../payload/wanted.ts';

/** ConfigMap that remembers what updates deleted. */
const DELETIONS_NAME = 'flotilla-version-operator-deletions';
const REF = { namespace: VERSION_NAMESPACE, name: DELETIONS_NAME };
const Keys = z.array(z.string().max(1_024)).max(10_000);

/**
 * What an update has deleted, kept in the cluster: what somebody makes again afterwards is theirs, also when the operator was restarted in
 * between.
 */
export class Deletions {
  readonly #client: Client;
  readonly #keys = new Set<string>();
  #release = '';

  constructor(client: Client) {
    this.#client = client;
  }

  /** Reads what was deleted for a release; what was for another does not count. */
  async read(release: string): Promise<void> {
    if (this.#release === release) return;
    const stored = await this.#client.get(ConfigMap, REF);
    this.#keys.clear();
    this.#release = release;
    if (stored?.data?.release !== release) return;
    for (const key of Keys.catch([]).parse(parsed(stored.data.deleted))) this.#keys.add(key);
  }

  has({ key }: Wanted): boolean {
    return this.#keys.has(key);
  }

  /** Remembers a deletion that was asked for. */
  async record({ key }: Wanted): Promise<void> {
    this.#keys.add(key);
    const data = { release: this.#release, deleted: JSON.stringify([...this.#keys].sort()) };
    const object = KubeObject.parse({ metadata: REF, data });
    await this.#client.apply(ConfigMap as Resource<ConfigMap>, object, { fieldManager: 'flotilla-version-operator', force: true });
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
}
