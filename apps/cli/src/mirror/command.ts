import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { bytes } from '@flotilla/api/units';
import { formatImageReference, OciLayout, parseDockerConfig, parseImageReference, publishLayout, RegistryClient } from '@flotilla/registry';
import { checkOptions, readOptionFile } from '@flotilla/runtime';
import { z } from 'zod';
import { callersPath } from '../config.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';
import { checkRelease } from './release-folder.ts';

const MirrorOptions = z.object({
  from: z.string({ error: 'is required: folder of a release, as in --from flotilla-0.1.0' }).min(1, { error: 'is empty: give a folder' }),
  to: z
    .string({ error: 'is required: registry and path, as in --to mirror.example.com:5000/flotilla' })
    .regex(/^[^@\s/:]+(:\d+)?(\/[^@\s/:]+)*$/, {
      error: 'must be host[:port][/path] without a scheme, a tag, a digest or a slash at the end',
    }),
  authfile: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  registryCa: z.string().min(1, { error: 'is empty: give a file' }).optional(),
  insecureRegistry: z.boolean().default(false),
});
type MirrorOptions = z.output<typeof MirrorOptions>;

/** `flotilla mirror`: puts the images and charts of a release on a registry. */
export const runMirror: Run = (_, given) => mirror(checkOptions(MirrorOptions, given));

async function mirror(options: MirrorOptions): Promise<void> {
  const { to, authfile, insecureRegistry } = options;
  const folder = callersPath(options.from);
  await checkRelease(folder);
  const { host } = parseImageReference(`${to}/any:tag`);
  const credentials = authfile === undefined ? undefined : await readCredentials(callersPath(authfile));
  const ca = await readOptionFile('--registry-ca', options.registryCa && callersPath(options.registryCa));
  await using client = new RegistryClient({
    userAgent: 'flotilla-cli',
    ...(ca !== undefined && { ca }),
    ...(insecureRegistry && { insecureHosts: [host] }),
    ...(credentials && { credentials }),
  });
  const layout = OciLayout.read(join(folder, 'images'));
  for (const { reference, digest, bytes: sent } of await publishLayout({ client, layout, prefix: to })) {
    writeOut(`${formatImageReference(reference)}@${digest}\n`);
    writeErr(`${reference.repository}: ${bytes(sent)} sent\n`);
  }
  writeErr(`Install the charts with --set imageRegistry=${to}\n`);
}

async function readCredentials(path: string) {
  try {
    return parseDockerConfig(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_CONFIG', `--authfile: ${path} cannot be used as Docker's config.json`, { cause });
  }
}
