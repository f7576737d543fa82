import { join } from 'node:path';
import type { RegistryClient } from '@flotilla/registry';
import { type AppName, appNames } from '../../tools/src/images/apps.ts';
import { buildImages } from '../../tools/src/images/build-images.ts';
import { hostArchitecture } from '../../tools/src/images/cache-folder.ts';
import { pushImages } from '../../tools/src/images/push-images.ts';

/** Digests of our programs' images, by program. */
export type ProgramImages<App extends AppName = AppName> = Readonly<Record<App, string>>;
/** Programs of a standalone hub and of a spoke that has joined it. */
export const INSTALLED = ['hub', 'image-puller', 'spoke-agent'] as const satisfies readonly AppName[];
/** Images that an installation needs. */
export type InstalledImages = ProgramImages<(typeof INSTALLED)[number]>;

/** Where program images are pushed. */
interface ProgramImagesOptions<App extends AppName> {
  /** Default: all. */
  readonly apps?: readonly App[];
  readonly client: RegistryClient;
  /** `host:port` */
  readonly pushHost: string;
  /** Folder for the layout they are built in. */
  readonly dir: string;
  readonly say: (line: string) => void;
}

/** Builds images of our programs for this machine, as `npm run images` does, and pushes them. */
export async function pushProgramImages<App extends AppName = AppName>(options: ProgramImagesOptions<App>): Promise<ProgramImages<App>> {
  const { apps = appNames, client, pushHost, dir, say } = options;
  const built = await buildImages({
    output: join(dir, 'images'),
    apps,
    architectures: [hostArchitecture()],
    superseded: 'newest',
    log: say,
  });
  const pushed = await pushImages(built, { client, prefix: `${pushHost}/flotilla`, tag: 'demo' });
  return Object.fromEntries(pushed.map(({ app, pullSpec }) => [app, pullSpec.split('@')[1]])) as ProgramImages<App>;
}
