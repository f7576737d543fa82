import { isJsonObject, type KubeObject } from '@flotilla/api';
import { ApiError, type Client, isAlreadyExists } from '@flotilla/runtime';
import { clientWith } from '../client-wrappers.ts';

/** A server that answers otherwise than a real one, in one thing. */
interface Fault {
  readonly name: string;
  readonly broken: (client: Client) => Partial<Client>;
}

const withMetadata = <T extends KubeObject>(object: T, fields: Partial<KubeObject['metadata']>): T => ({
  ...object,
  metadata: { ...object.metadata, ...fields },
});
/** A patch without a field of its metadata. */
const without = (patch: unknown, field: string): unknown => {
  if (!isJsonObject(patch) || !isJsonObject(patch.metadata)) return patch;
  const { [field]: _, ...metadata } = patch.metadata;
  return { ...patch, metadata };
};
async function* nothing(): AsyncGenerator<never, undefined> {}
async function* told<T>(events: AsyncIterable<T>, tell: (event: T) => T): AsyncGenerator<T, undefined> {
  for await (const event of events) yield tell(event);
}

/** Faults that the questions see, each of them. */
export const faults: readonly Fault[] = [
  {
    name: 'a write of the status counts as a generation',
    broken: (client) => ({
      async patch(kind, ref, patch, options) {
        const answer = await client.patch(kind, ref, patch, options);
        return options.subresource ? withMetadata(answer, { generation: (answer.metadata.generation ?? 0) + 1 }) : answer;
      },
    }),
  },
  {
    name: 'a patch does not look at the version',
    broken: (client) => ({ patch: (kind, ref, patch, options) => client.patch(kind, ref, without(patch, 'resourceVersion'), options) }),
  },
  {
    name: 'a deletion does not look at the uid',
    broken: (client) => ({ delete: (kind, ref, options) => client.delete(kind, ref, { ...options, uid: '' }) }),
  },
  {
    name: 'a finalizer holds nothing',
    broken: (client) => ({
      async delete(kind, ref, options) {
        await client.patch(kind, ref, { metadata: { finalizers: null } }, { type: 'merge' }).catch(() => undefined);
        return client.delete(kind, ref, options);
      },
    }),
  },
  {
    name: 'a list is not sorted',
    broken: (client) => ({
      async list(kind, options) {
        const { items, resourceVersion } = await client.list(kind, options);
        return { items: items.toReversed(), resourceVersion };
      },
    }),
  },
  {
    name: 'an object without the label is not selected by notin',
    broken: (client) => ({
      async list(kind, options = {}) {
        const { items, resourceVersion } = await client.list(kind, options);
        const selected = items.filter(({ metadata }) => !options.labelSelector?.includes('notin') || metadata.labels?.team !== undefined);
        return { items: selected, resourceVersion };
      },
    }),
  },
  {
    name: 'a watch from an old version ends without a word',
    broken: (client) => ({
      watch: (kind, options) => (options.resourceVersion === '1' ? nothing() : client.watch(kind, options)),
    }),
  },
  {
    name: 'an object that is selected no more is only modified for a watch',
    broken: (client) => ({
      watch: (kind, options) =>
        told(client.watch(kind, options), (event) =>
          options.labelSelector && event.type === 'DELETED' ? { ...event, type: 'MODIFIED' } : event,
        ),
    }),
  },
  {
    name: 'a write of the object writes the status too',
    broken: (client) => ({
      async patch(kind, ref, patch, options) {
        const answer = await client.patch(kind, ref, patch, options);
        if (options.subresource || options.type !== 'merge' || !isJsonObject(patch) || !isJsonObject(patch.status)) return answer;
        return client.patch(kind, ref, { status: patch.status }, { ...options, subresource: 'status' }).catch(() => answer);
      },
    }),
  },
  {
    name: 'defaults are not filled in',
    broken: (client) => ({
      async create(kind, object, options) {
        const answer: KubeObject & { spec?: unknown } = await client.create(kind, object, options);
        if (!isJsonObject(answer.spec)) return answer as never;
        const { flag: _, ...spec } = answer.spec;
        return { ...answer, spec } as never;
      },
    }),
  },
  {
    name: 'an apply takes what others own without being told to',
    broken: (client) => ({ apply: (kind, object, options) => client.apply(kind, object, { ...options, force: true }) }),
  },
  {
    name: 'a taken name is taken over',
    broken: (client) => ({
      async create(kind, object, options) {
        try {
          return await client.create(kind, object, options);
        } catch (error) {
          if (!isAlreadyExists(error)) throw error;
          return client.patch(kind, object.metadata, object, { type: 'merge' });
        }
      },
    }),
  },
  {
    name: 'a refusal has other words',
    broken: (client) => ({
      async create(kind, object, options) {
        try {
          return await client.create(kind, object, options);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          throw new ApiError(error.code, 'create', { status: error.status, reason: error.reason, serverMessage: 'no' });
        }
      },
    }),
  },
  {
    name: 'a patch that changes nothing is written',
    broken: (client) => ({
      async patch(kind, ref, patch, options) {
        const before = await client.get(kind, ref);
        const answer = await client.patch(kind, ref, patch, options);
        const isSame = before?.metadata.resourceVersion === answer.metadata.resourceVersion;
        return isSame ? withMetadata(answer, { resourceVersion: '999999' }) : answer;
      },
    }),
  },
];

/** The client with one fault. */
export const withFault = (client: Client, { broken }: Fault): Client => clientWith(client, broken(client));
