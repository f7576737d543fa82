import type { Client } from '@flotilla/runtime';

/** One call of a client: its method, and the kind or the path that it is about. */
interface CountedCall {
  readonly verb: string;
  readonly kind: string;
}

const COUNTED = new Set(['request', 'get', 'list', 'create', 'replace', 'apply', 'patch', 'delete', 'evict']);

/** A client that tells of each of its calls; watches are not told of, the list that a cache begins with is. */
export const countedCalls = (client: Client, tell: (call: CountedCall) => void): Client =>
  new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const [first, second] = args;
        if (COUNTED.has(String(name)))
          tell({ verb: String(name), kind: typeof first === 'string' ? `${first} ${String(second)}` : Object(first).kind });
        return Reflect.apply(value, target, args);
      };
    },
  });
