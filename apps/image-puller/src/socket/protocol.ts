import type { MethodDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

/** A call of a protocol. */
export type ProtocolMethod = MethodDefinition<object, object>;

/** Words of a descriptor. Unlike .proto files it is part of a bundle; field numbers are the interfaces' own. */
export const text = (id: number) => ({ type: 'string', id });
export const texts = (id: number) => ({ rule: 'repeated', type: 'string', id });
export const labels = (id: number) => ({ keyType: 'string', type: 'string', id });
export const method = (requestType: string, responseType: string) => ({ requestType, responseType, comment: '' });
/** A method that takes or gives a stream of messages. */
export const streamed = (requestType: string, responseType: string, streams: { requestStream?: boolean; responseStream?: boolean }) => ({
  ...method(requestType, responseType),
  ...streams,
});

/** Compiles the nested packages of a descriptor, and returns a finder of methods. */
export function compile(nested: Parameters<typeof fromJSON>[0]['nested']): (service: string, name: string) => ProtocolMethod {
  const definitions = fromJSON({ nested }, { longs: Number, defaults: true, keepCase: false });
  return (service, name) => {
    const definition = definitions[service];
    const found = definition && !('format' in definition) ? definition[name] : undefined;
    if (!found) throw new TypeError(`${service}.${name} is not in the descriptor`);
    return found;
  };
}
