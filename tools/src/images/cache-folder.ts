import { join } from 'node:path';
import { readEnvironment } from '@flotilla/control-plane/processes';

/** Architectures images are built for, by their OCI names, and what npm and Node's machine code call them. */
export const architectures = {
  amd64: { npm: 'x64', elfMachine: 62 },
  arm64: { npm: 'arm64', elfMachine: 183 },
} as const;

/** OCI name of an architecture images can be built for. */
export type Architecture = keyof typeof architectures;

/** All of them. */
export const architectureNames: readonly Architecture[] = ['amd64', 'arm64'];

/** OCI architecture of the running machine; amd64 where it is neither of ours. */
export const hostArchitecture = (): Architecture => (process.arch === 'arm64' ? 'arm64' : 'amd64');

/** Folder of everything the image build keeps between runs, beside the built tools. Deleting it costs one download of about 110 MB. */
export const imagesCacheFolder = (): string => join(readEnvironment().cacheDir, 'images');
