import { Metadata } from '@grpc/grpc-js';
import { compile, labels, method, streamed, text, texts } from './protocol.ts';

// Used parts of containerd's services content, leases, images and snapshots, which CRI-O lacks.
const time = (id: number) => ({ type: 'Time', id });
const int64 = (id: number) => ({ type: 'int64', id });

const Empty = { fields: {} };
const Time = { fields: { seconds: int64(1), nanos: { type: 'int32', id: 2 } } };

const content = {
  Content: {
    methods: {
      Info: method('InfoRequest', 'InfoResponse'),
      ListStatuses: method('ListStatusesRequest', 'ListStatusesResponse'),
      Delete: method('DeleteContentRequest', 'Empty'),
      Abort: method('AbortRequest', 'Empty'),
      Read: streamed('ReadRequest', 'ReadResponse', { responseStream: true }),
      Write: streamed('WriteRequest', 'WriteResponse', { requestStream: true, responseStream: true }),
    },
  },
  Empty,
  InfoRequest: { fields: { digest: text(1) } },
  ContentInfo: { fields: { digest: text(1), size: int64(2) } },
  InfoResponse: { fields: { info: { type: 'ContentInfo', id: 1 } } },
  ListStatusesRequest: { fields: { filters: texts(1) } },
  Status: { fields: { ref: text(3), offset: int64(4), total: int64(5), expected: text(6) } },
  ListStatusesResponse: { fields: { statuses: { rule: 'repeated', type: 'Status', id: 1 } } },
  DeleteContentRequest: { fields: { digest: text(1) } },
  AbortRequest: { fields: { ref: text(1) } },
  ReadRequest: { fields: { digest: text(1), offset: int64(2), size: int64(3) } },
  ReadResponse: { fields: { offset: int64(1), data: { type: 'bytes', id: 2 } } },
  WriteAction: { values: { STAT: 0, WRITE: 1, COMMIT: 2 } },
  WriteRequest: {
    fields: {
      action: { type: 'WriteAction', id: 1 },
      ref: text(2),
      total: int64(3),
      expected: text(4),
      offset: int64(5),
      data: { type: 'bytes', id: 6 },
    },
  },
  WriteResponse: { fields: { action: { type: 'WriteAction', id: 1 }, offset: int64(4), total: int64(5), digest: text(6) } },
};

const leases = {
  Leases: {
    methods: {
      Create: method('CreateRequest', 'CreateResponse'),
      Delete: method('DeleteRequest', 'Empty'),
      List: method('ListRequest', 'ListResponse'),
      AddResource: method('AddResourceRequest', 'Empty'),
      ListResources: method('ListResourcesRequest', 'ListResourcesResponse'),
    },
  },
  Empty,
  Time,
  Lease: { fields: { id: text(1), createdAt: time(2), labels: labels(3) } },
  CreateRequest: { fields: { id: text(1), labels: labels(3) } },
  CreateResponse: { fields: { lease: { type: 'Lease', id: 1 } } },
  DeleteRequest: { fields: { id: text(1), sync: { type: 'bool', id: 2 } } },
  ListRequest: { fields: { filters: texts(1) } },
  ListResponse: { fields: { leases: { rule: 'repeated', type: 'Lease', id: 1 } } },
  Resource: { fields: { id: text(1), type: text(2) } },
  AddResourceRequest: { fields: { id: text(1), resource: { type: 'Resource', id: 2 } } },
  ListResourcesRequest: { fields: { id: text(1) } },
  ListResourcesResponse: { fields: { resources: { rule: 'repeated', type: 'Resource', id: 1 } } },
};

const snapshots = {
  Snapshots: { methods: { Stat: method('StatRequest', 'StatResponse') } },
  StatRequest: { fields: { snapshotter: text(1), key: text(2) } },
  Info: { fields: { name: text(1), parent: text(2), kind: { type: 'int32', id: 3 } } },
  StatResponse: { fields: { info: { type: 'Info', id: 1 } } },
};

const images = {
  Images: {
    methods: {
      Get: method('GetImageRequest', 'GetImageResponse'),
      List: method('ListImagesRequest', 'ListImagesResponse'),
      Create: method('CreateImageRequest', 'CreateImageResponse'),
      Update: method('UpdateImageRequest', 'UpdateImageResponse'),
      Delete: method('DeleteImageRequest', 'Empty'),
    },
  },
  Empty,
  Descriptor: { fields: { mediaType: text(1), digest: text(2), size: int64(3), annotations: labels(5) } },
  Image: { fields: { name: text(1), labels: labels(2), target: { type: 'Descriptor', id: 3 } } },
  FieldMask: { fields: { paths: texts(1) } },
  GetImageRequest: { fields: { name: text(1) } },
  GetImageResponse: { fields: { image: { type: 'Image', id: 1 } } },
  ListImagesRequest: { fields: { filters: texts(1) } },
  ListImagesResponse: { fields: { images: { rule: 'repeated', type: 'Image', id: 1 } } },
  CreateImageRequest: { fields: { image: { type: 'Image', id: 1 } } },
  CreateImageResponse: { fields: { image: { type: 'Image', id: 1 } } },
  UpdateImageRequest: { fields: { image: { type: 'Image', id: 1 }, updateMask: { type: 'FieldMask', id: 2 } } },
  UpdateImageResponse: { fields: { image: { type: 'Image', id: 1 } } },
  DeleteImageRequest: { fields: { name: text(1), sync: { type: 'bool', id: 2 } } },
};

const v1 = <T>(nested: T) => ({ nested: { v1: { nested } } });
const services = { content: v1(content), leases: v1(leases), snapshots: v1(snapshots), images: v1(images) };
const find = compile({ containerd: { nested: { services: { nested: services } } } });
const contentMethod = (name: string) => find('containerd.services.content.v1.Content', name);
const imageMethod = (name: string) => find('containerd.services.images.v1.Images', name);
const leaseMethod = (name: string) => find('containerd.services.leases.v1.Leases', name);

/** Calls of containerd's own services. */
export const Containerd = {
  contentInfo: contentMethod('Info'),
  contentStatuses: contentMethod('ListStatuses'),
  contentDelete: contentMethod('Delete'),
  contentAbort: contentMethod('Abort'),
  contentRead: contentMethod('Read'),
  contentWrite: contentMethod('Write'),
  createLease: leaseMethod('Create'),
  deleteLease: leaseMethod('Delete'),
  listLeases: leaseMethod('List'),
  addResource: leaseMethod('AddResource'),
  listResources: leaseMethod('ListResources'),
  getImage: imageMethod('Get'),
  listImages: imageMethod('List'),
  createImage: imageMethod('Create'),
  updateImage: imageMethod('Update'),
  deleteImage: imageMethod('Delete'),
  statSnapshot: find('containerd.services.snapshots.v1.Snapshots', 'Stat'),
} as const;

/** Kind of a snapshot that is complete. */
export const COMMITTED = 3;

/** Actions of a content write. A WRITE or COMMIT with offset 0 truncates the ingest. */
export const WriteAction = { stat: 0, write: 1, commit: 2 } as const;

/** Builds the metadata of containerd's namespace for the kubelet's images; what is written belongs to the lease. */
export function containerdMetadata(lease?: string): Metadata {
  const metadata = new Metadata();
  metadata.set('containerd-namespace', 'k8s.io');
  if (lease !== undefined) metadata.set('containerd-lease', lease);
  return metadata;
}
