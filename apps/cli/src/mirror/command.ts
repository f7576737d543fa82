import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { bytes } from '@flotilla/api/units';
import { formatImageReference, OciLayout, parseDockerConfig, parseImageReference, publishLayout, RegistryClient } from '@flotilla/registry';
import { checkOptions, readOptionFile } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';
import { MirrorOptions } from './options.ts';
import { checkRelease } from './release-folder.ts';

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
