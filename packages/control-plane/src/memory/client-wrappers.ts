import type { KubeObject, Ref, Resource } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';

/** A client some of whose methods are others. */
export const clientWith = (client: Client, others: Partial<Client>): Client =>
  new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(others, key) ?? Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** A write of a client, before it is sent. */
export interface SentWrite {
  readonly verb: 'create' | 'replace' | 'patch' | 'apply' | 'delete' | 'deleteCollection';
  readonly kind: Resource;
  /** The namespace alone for a collection. */
  readonly ref: Ref;
  /** Object or patch; absent for a deletion. */
  readonly body: unknown;
}

/** A client that tells of each write before it is sent, by its own methods; one that `before` throws for is not sent. */
export function beforeWrites(client: Client, before: (write: SentWrite) => void): Client {
  const told = async <T>(write: SentWrite, send: () => Promise<T>): Promise<T> => {
    before(write);
    return send();
  };
  return clientWith(client, {
    create: (kind, object, options) =>
      told({ verb: 'create', kind, ref: object.metadata, body: object }, () => client.create(kind, object, options)),
    replace: (kind, object, options) =>
      told({ verb: 'replace', kind, ref: object.metadata, body: object }, () => client.replace(kind, object, options)),
    patch: (kind, ref, patch, options) => told({ verb: 'patch', kind, ref, body: patch }, () => client.patch(kind, ref, patch, options)),
    apply: (kind, object, options) =>
      told({ verb: 'apply', kind, ref: object.metadata, body: object }, () => client.apply(kind, object, options)),
    delete: (kind, ref, options) => told({ verb: 'delete', kind, ref, body: undefined }, () => client.delete(kind, ref, options)),
    deleteCollection: (kind, options) =>
      told({ verb: 'deleteCollection', kind, ref: { namespace: options.namespace, name: '' }, body: undefined }, () =>
        client.deleteCollection(kind, options),
      ),
  });
}

/** A client whose watch events can be held back. */
interface HeldWatches {
  readonly client: Client;
  /** Holds back further events of these kinds (plurals), and releases all others. */
  readonly hold: (...plurals: readonly string[]) => void;
}

/** Lets the events of a kind through while nobody holds it; those that are held come later, in their order. */
export function holdWatches(client: Client): HeldWatches {
  let held: readonly string[] = [];
  let released = Promise.withResolvers<void>();
  async function* passed<T extends KubeObject>(kind: Resource<T>, options: Parameters<Client['watch']>[1]) {
    for await (const event of client.watch(kind, options)) {
      while (held.includes(kind.plural) && !options.signal?.aborted) await released.promise;
      yield event;
    }
  }
  return {
    client: clientWith(client, { watch: passed }),
    hold: (...plurals) => {
      held = plurals;
      released.resolve();
      released = Promise.withResolvers<void>();
    },
  };
}
