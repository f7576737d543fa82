import { join } from 'node:path';
import type { RegistryClient } from '@flotilla/registry';
import type { AppName } from '../images/apps.ts';
import { buildImages } from '../images/build-images.ts';
import { hostArchitecture } from '../images/cache-folder.ts';
import { pushImages } from '../images/push-images.ts';

/** Digests of our programs' images, by program. */
export type ProgramImages = Readonly<Record<AppName, string>>;

/** Where program images are pushed. */
interface ProgramImagesOptions {
  readonly client: RegistryClient;
  /** `host:port` */
  readonly pushHost: string;
  /** Folder for the layout they are built in. */
  readonly dir: string;
  readonly say: (line: string) => void;
}

/** Builds the images of our programs for this machine, as `npm run images` does, and pushes them. */
export async function pushProgramImages({ client, pushHost, dir, say }: ProgramImagesOptions): Promise<ProgramImages> {
  const built = await buildImages({ output: join(dir, 'images'), architectures: [hostArchitecture()], superseded: 'newest', log: say });
  const pushed = await pushImages(built, { client, prefix: `${pushHost}/flotilla`, tag: 'demo' });
  const digestOf = (app: AppName): string => {
    const digest = pushed.find((image) => image.app === app)?.pullSpec.split('@')[1];
    if (!digest) throw new TypeError(`no image was built for ${app}`);
    return digest;
  };
  return {
    console: digestOf('console'),
    hub: digestOf('hub'),
    'image-puller': digestOf('image-puller'),
    'spoke-agent': digestOf('spoke-agent'),
    'upgrade-operator': digestOf('upgrade-operator'),
    'version-operator': digestOf('version-operator'),
  };
}
