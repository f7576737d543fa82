export type { BlobStore, DocumentStore } from './blob-store.ts';
export { RegistryClient } from './client.ts';

export { DockerConfig, findCredential, parseDockerConfig } from './credentials.ts';
export { DocumentCache } from './document-cache.ts';
export { downloadImage } from './download.ts';
export type { RegistryRule } from './endpoint.ts';
export { asksToWait, isDenied, isNeverReached, isTransient, RegistryError, RegistryErrorCode, withoutImage } from './errors.ts';
export { FileCache } from './file-cache.ts';
export { listImageParts } from './image-graph.ts';
export { formatImageReference, isImageName, parseImageReference } from './image-reference.ts';
export { readLayerFiles } from './layer-files.ts';
export { OciLayout } from './layout.ts';
export { Descriptor, MediaType } from './manifest.ts';
export { type RetryOptions, withRetries } from './patience.ts';
export { currentPlatform, Platform } from './platform.ts';
export { publishLayout } from './publish.ts';
export { pushImage } from './push.ts';
export type { RegistriesFile } from './registries-conf.ts';
export { parseRegistriesConf } from './registries-conf.ts';
export type { ResolvedImage } from './resolve.ts';
export { requirePlatform, resolveImage } from './resolve.ts';

export type { HostTls } from './transport.ts';
