import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { fileDigest } from '../../tools/src/images/layer.ts';
import { packageCli } from '../../tools/src/release/cli-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const source = { version: '7.8.9', commit: 'c0ffee', committedAt: 1_767_323_045 };
const VERSION_LINE = 'flotilla 7.8.9 (commit c0ffee)\n';
/** ELF's number of the machine that a program is for. */
const MACHINES = { amd64: 62, arm64: 183 } as const;
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** A Node that is too old, where this machine has one. */
const OLD_NODE = '/usr/bin/node';
const oldVersion = existsSync(OLD_NODE) ? (await runCommand(OLD_NODE, ['--version'])).trim() : 'none';
const isOld = /^v(1\d|2[0-3])\./.test(oldVersion);
if (!isOld) process.stderr.write(`the refusal of an older Node is not tested: ${OLD_NODE} is ${oldVersion}\n`);

let scratch: string;
/** Folder with the folder of each platform. */
let unpacked: string;
/** A folder without programs, for PATH. */
let empty: string;

const Krew = z.object({
  spec: z.object({
    platforms: z.array(
      z.object({
        selector: z.object({ matchLabels: z.object({ os: z.string(), arch: z.string() }) }),
        uri: z.url(),
        sha256: z.string(),
        bin: z.string(),
      }),
    ),
  }),
});
const folderOf = (platform: string): string => join(unpacked, `flotilla-${source.version}-${platform}`);
const run = (program: string, args: readonly string[], path = empty): SpawnSyncReturns<string> =>
  spawnSync(program, args, { encoding: 'utf8', env: { PATH: path }, cwd: scratch });

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'flotilla-release-cli-'));
  [unpacked, empty] = [join(scratch, 'unpacked'), join(scratch, 'empty')];
  for (const folder of [unpacked, empty]) await mkdir(folder);
  const spokeChart = join(scratch, 'chart.tgz');
  await writeFile(spokeChart, 'the chart');
  await packageCli({ root: ROOT, output: scratch, source, spokeChart, log: () => undefined });
  for (const platform of ['linux-amd64', 'linux-arm64', 'darwin'])
    await runCommand('tar', ['-xzf', join(scratch, 'cli', `flotilla-${source.version}-${platform}.tar.gz`), '-C', unpacked]);
  await mkdir(join(unpacked, 'npm'));
  await runCommand('tar', ['-xzf', join(scratch, 'cli', `flotilla-${source.version}.tgz`), '-C', join(unpacked, 'npm')]);
}, 300_000);

afterAll(async () => {
  if (scratch) await rm(scratch, { recursive: true, force: true });
});

test.skipIf(!isOld).each([
  { name: 'the one file', program: () => join(scratch, 'cli/flotilla') },
  { name: 'the npm package', program: () => join(unpacked, 'npm/package/flotilla.cjs') },
])('$name says under an older Node which one it needs, and nothing else', ({ program }) => {
  const { status, stdout, stderr } = run(OLD_NODE, [program(), 'status']);
  expect(stderr.split('\n')).toEqual([
    expect.stringContaining(`flotilla needs Node 24.11 or later; this is Node ${oldVersion.slice(1)} (${OLD_NODE})`),
    '',
  ]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
});

test('every form runs under this Node', () => {
  for (const program of [join(scratch, 'cli/flotilla'), join(unpacked, 'npm/package/flotilla.cjs')])
    expect(run(process.execPath, [program, '--version'])).toMatchObject({ status: 0, stdout: VERSION_LINE, stderr: '' });
});

test.skipIf(process.platform !== 'linux')('the folder for Linux needs no Node, also where a link leads to it', async () => {
  const launcher = join(folderOf(`linux-${ARCHITECTURE}`), 'flotilla');
  expect(run(launcher, ['--version'])).toMatchObject({ status: 0, stdout: VERSION_LINE, stderr: '' });
  expect(run(join(launcher, '../kubectl-flotilla'), ['--version'], '/usr/bin:/bin')).toMatchObject({ status: 0, stdout: VERSION_LINE });
  const link = join(scratch, 'link');
  await symlink(launcher, link);
  expect(run(link, ['--version'], '/usr/bin:/bin')).toMatchObject({ status: 0, stdout: VERSION_LINE, stderr: '' });
  expect(run(launcher, ['no-such-command'])).toMatchObject({ status: 2, stdout: '' });
});

test.each(['amd64', 'arm64'] as const)(
  'the folder for %s has the Node of that architecture, with its licence and in its bill',
  async (architecture) => {
    const folder = folderOf(`linux-${architecture}`);
    await using node = await open(join(folder, 'node'));
    const { buffer } = await node.read(Buffer.alloc(20), 0, 20, 0);
    expect(buffer.readUInt16LE(18)).toBe(MACHINES[architecture]);
    expect((await stat(join(folder, 'node'))).mode & 0o777).toBe(0o755);
    expect(await readFile(join(folder, 'LICENSE-node'), 'utf8')).toContain('Node.js is licensed');
    const { components } = JSON.parse(await readFile(join(folder, 'bom.cdx.json'), 'utf8'));
    expect(components.map(({ name }: { name: string }) => name)).toContain('node');
    expect(await readFile(join(folder, 'flotilla-spoke.tgz'), 'utf8')).toBe('the chart');
  },
);

test('the folder for macOS starts by the Node that is put beside it, else by the one in PATH, else says what is missing', async () => {
  const folder = folderOf('darwin');
  const launcher = join(folder, 'flotilla');
  expect(run(launcher, ['--version'])).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining(`put its program as ${folder}/node`),
  });
  expect(run(launcher, ['--version'], join(process.execPath, '..'))).toMatchObject({ status: 0, stdout: VERSION_LINE });
  await symlink(process.execPath, join(folder, 'node'));
  expect(run(launcher, ['--version'])).toMatchObject({ status: 0, stdout: VERSION_LINE, stderr: '' });
});

test('krew and Homebrew find each folder by its digest', async () => {
  const folder = join(scratch, 'cli');
  const { spec } = Krew.parse(parse(await readFile(join(folder, 'krew.yaml'), 'utf8')));
  expect(spec.platforms.map(({ selector: { matchLabels } }) => `${matchLabels.os} ${matchLabels.arch}`)).toEqual([
    'linux amd64',
    'linux arm64',
    'darwin amd64',
    'darwin arm64',
  ]);
  const formula = await readFile(join(folder, 'flotilla.rb'), 'utf8');
  for (const { uri, sha256, bin } of spec.platforms) {
    const archive = basename(uri);
    expect(sha256).toBe(await fileDigest(join(folder, archive), 'sha256', 'hex'));
    expect(formula).toContain(`url "${uri}"`);
    expect(formula).toContain(`sha256 "${sha256}"`);
    // Its kinds stand at the beginning of each line: krew takes files and folders alone.
    const listed = (await runCommand('tar', ['-tvzf', join(folder, archive)])).trim().split('\n');
    expect(listed.filter((line) => !/^[-d]/.test(line))).toEqual([]);
    expect(listed.some((line) => line.startsWith('-rwxr-xr-x') && line.endsWith(` ${bin}`))).toBe(true);
  }
});
