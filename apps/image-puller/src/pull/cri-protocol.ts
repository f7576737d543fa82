import { Metadata, type MethodDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

// Used parts of the Kubernetes container runtime interface (runtime.v1) and of containerd's content API. A descriptor, unlike .proto files, is part
// of a bundle. Field numbers are the interfaces' own.
const text = (id: number) => ({ type: 'string', id });
const method = (requestType: string, responseType: string) => ({ requestType, responseType, comment: '' });

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
      repoTags: { rule: 'repeated', ...text(2) },
      repoDigests: { rule: 'repeated', ...text(3) },
      size: { type: 'uint64', id: 4 },
    },
  },
  ImageStatusRequest: { fields: { image: { type: 'ImageSpec', id: 1 }, verbose: { type: 'bool', id: 2 } } },
  ImageStatusResponse: { fields: { image: { type: 'Image', id: 1 } } },
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

const contentV1 = {
  Content: {
    methods: { Info: method('InfoRequest', 'InfoResponse'), ListStatuses: method('ListStatusesRequest', 'ListStatusesResponse') },
  },
  InfoRequest: { fields: { digest: text(1) } },
  ContentInfo: { fields: { digest: text(1), size: { type: 'int64', id: 2 } } },
  InfoResponse: { fields: { info: { type: 'ContentInfo', id: 1 } } },
  ListStatusesRequest: { fields: { filters: { rule: 'repeated', ...text(1) } } },
  Status: { fields: { ref: text(3), offset: { type: 'int64', id: 4 }, total: { type: 'int64', id: 5 }, expected: text(6) } },
  ListStatusesResponse: { fields: { statuses: { rule: 'repeated', type: 'Status', id: 1 } } },
};

const definitions = fromJSON(
  {
    nested: {
      runtime: { nested: { v1: { nested: runtimeV1 } } },
      containerd: { nested: { services: { nested: { content: { nested: { v1: { nested: contentV1 } } } } } } },
    },
  },
  { longs: Number, defaults: true, keepCase: false },
);

/** A call of the protocol. */
export type ProtocolMethod = MethodDefinition<object, object>;

function find(service: string, name: string): ProtocolMethod {
  const definition = definitions[service];
  const found = definition && !('format' in definition) ? definition[name] : undefined;
  if (!found) throw new TypeError(`${service}.${name} is not in the descriptor`);
  return found;
}

/** All calls of this program. */
export const Protocol = {
  version: find('runtime.v1.RuntimeService', 'Version'),
  imageStatus: find('runtime.v1.ImageService', 'ImageStatus'),
  pullImage: find('runtime.v1.ImageService', 'PullImage'),
  imageFsInfo: find('runtime.v1.ImageService', 'ImageFsInfo'),
  contentInfo: find('containerd.services.content.v1.Content', 'Info'),
  contentStatuses: find('containerd.services.content.v1.Content', 'ListStatuses'),
} as const;

/** Builds the metadata of containerd's own namespace for the kubelet's images. */
export function containerdNamespace(): Metadata {
  const metadata = new Metadata();
  metadata.set('containerd-namespace', 'k8s.io');
  return metadata;
}
