import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { bytes } from '@flotilla/api/units';
import { formatImageReference, OciLayout, parseDockerConfig, parseImageReference, publishLayout, RegistryClient } from '@flotilla/registry';
import { checkOptions, readOptionFile } from '@flotilla/runtime';
import { callersPath, readProxies } from '../config.ts';
import { MirrorOptions } from '../registry/options.ts';
import type { Run } from '../run.ts';
import { writeErr, writeOut } from '../terminal/output.ts';

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
    proxy: readProxies(),
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

/** Name of the list of a release's files. */
const CHECKSUMS = 'SHA256SUMS';
/** Files that a message names at most. */
const SHOWN = 10;

/**
 * Compares a release's files with its list, so that a bad copy is not published.
 * @throws FlotillaError `FLOTILLA_MIRROR_INCOMPLETE` naming the files that are missing or differ
 */
async function checkRelease(folder: string): Promise<void> {
  const list = await readFile(join(folder, CHECKSUMS), 'utf8').catch(() => undefined);
  if (list === undefined) throw incomplete(folder, [`${CHECKSUMS} is missing`]);
  const wrong: string[] = [];
  for (const line of list.split('\n').filter(Boolean)) {
    const [, sha256, path] = /^([0-9a-f]{64}) {2}([\w@+-][\w@+./-]*)$/.exec(line) ?? [];
    if (sha256 === undefined || path === undefined || path.split('/').includes('..'))
      wrong.push(`${CHECKSUMS} has the line "${line.slice(0, 100)}"`);
    else {
      const found = await digestOf(join(folder, path));
      if (found !== sha256) wrong.push(`${path} ${found === undefined ? 'is missing' : 'differs'}`);
    }
  }
  if (list.trim() === '') wrong.push(`${CHECKSUMS} is empty`);
  if (wrong.length > 0) throw incomplete(folder, wrong);
}

const incomplete = (folder: string, wrong: readonly string[]): FlotillaError => {
  const more = wrong.length > SHOWN ? ` and ${wrong.length - SHOWN} more` : '';
  const text = `${folder} is no whole release: ${wrong.slice(0, SHOWN).join('; ')}${more}; copy it again`;
  return new FlotillaError('FLOTILLA_MIRROR_INCOMPLETE', text);
};

async function digestOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}
