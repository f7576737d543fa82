import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage, FlotillaError } from '@flotilla/api';
import { buildRelease, refuseContent } from './release/build-release.ts';
import { callersPath, readAuthVariable } from './release/config.ts';
import { pushRelease } from './release/push.ts';
import { signFile } from './release/sign.ts';
import { checkVersion, releaseSource } from './release/source.ts';

const HELP = `usage: npm run release -- --version V --out DIR [options]
Makes everything of a version from a clean checkout: images, charts, command line, lists, bills of materials, checksums, provenance.
The same commit gives the same bytes. docs/release.md says what is in DIR.

  --version V           semantic version, as in 1.2.3
  --out DIR             folder to make; must not be there, or be empty
  --registry REGISTRY   registry and path where the images will be, as in registry.example.com/flotilla; default that of --push
  --push REGISTRY       push images and charts there
  --authfile FILE       credentials for it, in docker's config.json format; default: the text in DOCKER_AUTH_CONFIG
  --insecure            speak plain HTTP to it
  --sign-key KEY        file, or env://NAME for the text in a variable: sign SHA256SUMS, and after --push every image and chart, by cosign with this key (password: COSIGN_PASSWORD)
  --help                this text
`;

const flags = {
  version: { type: 'string' },
  out: { type: 'string' },
  registry: { type: 'string' },
  push: { type: 'string' },
  authfile: { type: 'string' },
  insecure: { type: 'boolean', default: false },
  'sign-key': { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

const ROOT = resolve(import.meta.dirname, '../..');
const log = (message: string): void => void process.stderr.write(`${message}\n`);

async function main(): Promise<void> {
  const values = readArguments();
  if (values.help) return void process.stdout.write(HELP);
  const { version, out, push, authfile, insecure, registry = push ?? '', 'sign-key': given } = values;
  if (!version || !out) throw new FlotillaError('FLOTILLA_RELEASE_USAGE', '--version and --out are required; see --help');
  checkVersion(version);
  const output = callersPath(out);
  await refuseContent(output);
  const source = await releaseSource(ROOT, version);
  const auth = authfile ? await readFile(callersPath(authfile), 'utf8') : readAuthVariable();
  const signer = given && { key: given.startsWith('env://') ? given : callersPath(given), log };
  const sign = signer && ((file: string) => signFile(file, signer));
  await buildRelease({ root: ROOT, output, source, registry: registry.replace(/\/+$/, ''), log, ...(sign && { sign }) });
  process.stdout.write(`${output}\n`);
  if (push) await pushRelease({ output, registry: push, insecure, log, ...(auth && { auth }), ...(signer && { signer }) });
}

function readArguments() {
  try {
    return parseArgs({ options: flags }).values;
  } catch (cause) {
    throw new FlotillaError('FLOTILLA_RELEASE_USAGE', `${errorMessage(cause)}; see --help`, { cause });
  }
}

main().catch((error: unknown) => {
  log(`release: ${errorMessage(error)}`);
  process.exitCode = error instanceof FlotillaError && error.code === 'FLOTILLA_RELEASE_USAGE' ? 2 : 1;
});
