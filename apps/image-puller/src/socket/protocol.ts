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

// Used parts of the Kubernetes container runtime interface (runtime.v1).
const runtimeV1 = {
  ImageService: {
    methods: {
      ImageStatus: method('ImageStatusRequest', 'ImageStatusResponse'),
      PullImage: method('PullImageRequest', 'PullImageResponse'),
      ImageFsInfo: method('ImageFsInfoRequest', 'ImageFsInfoResponse'),
    },
  },
  RuntimeService: { methods: { Version: method('VersionRequest', 'VersionResponse') } },
  VersionRequest: { fields: { version: text(1) } },
  VersionResponse: { fields: { version: text(1), runtimeName: text(2), runtimeVersion: text(3), runtimeApiVersion: text(4) } },
  ImageSpec: { fields: { image: text(1) } },
  Image: {
    fields: {
      id: text(1),
      repoTags: texts(2),
      repoDigests: texts(3),
      size: { type: 'uint64', id: 4 },
      pinned: { type: 'bool', id: 8 },
    },
  },
  ImageStatusRequest: { fields: { image: { type: 'ImageSpec', id: 1 }, verbose: { type: 'bool', id: 2 } } },
  ImageStatusResponse: { fields: { image: { type: 'Image', id: 1 }, info: labels(2) } },
  AuthConfig: {
    fields: { username: text(1), password: text(2), auth: text(3), serverAddress: text(4), identityToken: text(5), registryToken: text(6) },
  },
  PullImageRequest: { fields: { image: { type: 'ImageSpec', id: 1 }, auth: { type: 'AuthConfig', id: 2 } } },
  PullImageResponse: { fields: { imageRef: text(1) } },
  UInt64Value: { fields: { value: { type: 'uint64', id: 1 } } },
  FilesystemIdentifier: { fields: { mountpoint: text(1) } },
  FilesystemUsage: { fields: { fsId: { type: 'FilesystemIdentifier', id: 2 }, usedBytes: { type: 'UInt64Value', id: 3 } } },
  ImageFsInfoRequest: { fields: {} },
  ImageFsInfoResponse: { fields: { imageFilesystems: { rule: 'repeated', type: 'FilesystemUsage', id: 1 } } },
};

const find = compile({ runtime: { nested: { v1: { nested: runtimeV1 } } } });

/** All calls of the interface that this program makes. */
export const Protocol = {
  version: find('runtime.v1.RuntimeService', 'Version'),
  imageStatus: find('runtime.v1.ImageService', 'ImageStatus'),
  pullImage: find('runtime.v1.ImageService', 'PullImage'),
  imageFsInfo: find('runtime.v1.ImageService', 'ImageFsInfo'),
} as const;
