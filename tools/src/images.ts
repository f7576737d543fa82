import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { bytes } from '@flotilla/api/units';
import { parseDockerConfig, parseImageReference, RegistryClient } from '@flotilla/registry';
import { z } from 'zod';
import { type AppName, appNames } from './images/apps.ts';
import { type BuiltImages, buildImages } from './images/build-images.ts';
import { type Architecture, architectureNames, imagesCacheFolder } from './images/cache-folder.ts';
import { newestPackages } from './images/debian-packages.ts';
import { renewLock } from './images/locked-packages.ts';
import { pushImages } from './images/push-images.ts';

const HELP = `usage: npm run images -- [options]
Builds one OCI image per program into an OCI layout, without a container engine, and pushes them if asked.

  --output DIR       the layout's folder; default dist/images
  --arch ARCH        amd64 or arm64; may be given twice; default both
  --app APP          ${appNames.join(', ')}; may be repeated; default all
  --push PREFIX      push to PREFIX/APP, as in registry.example.com:5000/flotilla or .../flotilla:v1
  --insecure         speak plain HTTP to that registry
  --authfile FILE    credentials for it, in docker's config.json format
  --renew            only write debian-packages.lock.json anew, from the newest packages of the stable suite and its security suite
  --help             this text
`;

const dist = fileURLToPath(new URL('../../dist/images', import.meta.url));
const flags = {
  output: { type: 'string', default: dist },
  arch: { type: 'string', multiple: true },
  app: { type: 'string', multiple: true },
  push: { type: 'string' },
  insecure: { type: 'boolean', default: false },
  authfile: { type: 'string' },
  renew: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const log = (message: string) => void process.stderr.write(`${message}\n`);

async function main(): Promise<void> {
  const { values } = parseArgs({ options: flags });
  if (values.help) return void process.stdout.write(HELP);
  const chosen = {
    architectures: choose<Architecture>('--arch', values.arch, z.enum(['amd64', 'arm64']), architectureNames),
    apps: choose<AppName>('--app', values.app, z.enum(appNames), appNames),
  };
  if (values.renew) return renew();
  const started = performance.now();
  const built = await buildImages({ output: values.output, log, ...chosen });
  print(built, values.output);
  log(`Built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  if (values.push) await push(built, values.push, values);
}

async function renew(): Promise<void> {
  const changes = await renewLock((set, architecture) => newestPackages({ folder: imagesCacheFolder(), set, architecture }));
  console.log(changes.length === 0 ? 'The list names the newest packages already' : changes.join('\n'));
}

/** The values of a repeatable flag, or all of them when it is not given. */
function choose<T extends string>(flag: string, given: readonly string[] | undefined, known: z.ZodType<T>, all: readonly string[]): T[] {
  const parsed = z.array(known).safeParse(given ?? all);
  if (parsed.success) return [...new Set(parsed.data)];
  throw new FlotillaError('FLOTILLA_IMAGES_USAGE', `${flag} ${given?.join(' ')}: must be one of ${all.join(', ')}`);
}

function print({ images, bases }: BuiltImages, output: string): void {
  for (const [architecture, base] of Object.entries(bases)) {
    const { digest, size } = base.layer.descriptor;
    const debian = base.debianPackages.map(({ name, version }) => `${name}=${version}`).join(' ');
    console.log(`base ${architecture}: ${digest} ${bytes(size)}, Node ${base.nodeVersion}, Debian ${debian}`);
  }
  for (const { name, digest, platforms } of Object.values(images)) {
    console.log(`${name}@${digest}`);
    for (const [architecture, platform] of Object.entries(platforms)) {
      console.log(`  ${architecture}: ${platform.digest} ${bytes(platform.bytes)}`);
    }
  }
  console.log(`OCI layout: ${output}; bills of materials: ${join(output, 'boms')}`);
}

async function push(built: BuiltImages, target: string, { insecure, authfile }: { insecure: boolean; authfile?: string }): Promise<void> {
  const { host, repository, tag = 'latest' } = parseImageReference(target);
  const credentials = authfile ? parseDockerConfig(await readFile(authfile, 'utf8')) : undefined;
  await using client = new RegistryClient({ ...(insecure && { insecureHosts: [host] }), ...(credentials && { credentials }) });
  for (const { pullSpec, bytes: sent } of await pushImages(built, { client, prefix: join(host, repository), tag })) {
    console.log(`pushed ${pullSpec} (${bytes(sent)} sent)`);
  }
}

main().catch((error: unknown) => {
  log(`images: ${errorMessage(error)}`);
  process.exitCode = 1;
});
