import { z } from 'zod';
import { ServerStartError } from '../../errors.ts';

const Entry = z.object({ key: z.string(), value: z.string().default(''), mod_revision: z.string() });
const Range = z.object({ kvs: z.array(Entry).default([]) });
const Changed = z.object({ header: z.object({ revision: z.string() }) });

/** Operations of one transaction: etcd takes 128 by default. */
const OPERATIONS = 100;
const TIMEOUT_MS = 20_000;

/** Content of a key in an etcd, as the etcd encodes it: base64. */
export interface StoredEntry {
  readonly value: string;
  /** Revision of the etcd at its last write. */
  readonly revision: string;
}

/** Everything that a kube-apiserver keeps in its etcd, past the kube-apiserver: for whoever puts it back to what it was. */
export class EtcdStore {
  readonly #url: string;

  /** @param url `http://127.0.0.1:PORT` of an etcd that asks for no certificate */
  constructor(url: string) {
    this.#url = url;
  }

  /** Revisions of all keys, with their values if wanted. */
  async read({ values }: { readonly values: boolean }): Promise<Map<string, StoredEntry>> {
    const range = { key: encode('/registry/'), range_end: encode('/registry0'), keys_only: !values };
    const { kvs } = Range.parse(await this.#call('range', range));
    return new Map(kvs.map(({ key, value, mod_revision }) => [decode(key), { value, revision: mod_revision }]));
  }

  /** Removes and writes keys; returns the revision of the last write. */
  async change(remove: readonly string[], put: ReadonlyMap<string, string>): Promise<string> {
    const operations = [
      ...remove.map((key) => ({ requestDeleteRange: { key: encode(key) } })),
      ...[...put].map(([key, value]) => ({ requestPut: { key: encode(key), value } })),
    ];
    let revision = '';
    for (let at = 0; at < operations.length; at += OPERATIONS) {
      const answer = await this.#call('txn', { success: operations.slice(at, at + OPERATIONS) });
      revision = Changed.parse(answer).header.revision;
    }
    return revision;
  }

  async #call(what: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.#url}/v3/kv/${what}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new ServerStartError(`etcd at ${this.#url} answered ${answer.status} to ${what}: ${await answer.text()}`);
    return answer.json();
  }
}

const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (text: string): string => Buffer.from(text, 'base64').toString();
