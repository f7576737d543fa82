import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, runCommand, startServerProcess } from '@flotilla/control-plane/processes';
import { expect, test } from 'vitest';

const BOOTSTRAP = fileURLToPath(new URL('../bootstrap.cjs', import.meta.url));

/** Says who it is, and ends in order when it is asked to. */
const PROGRAM = `import { writeFileSync } from 'node:fs';
process.on('SIGTERM', () => { writeFileSync('ended', ''); process.exit(0); });
setInterval(() => undefined, 1000);
writeFileSync('pid', String(process.pid));
`;

/** A repository with one command, \`npm run hub\`, whose packages are installed. */
async function makeRepository() {
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bootstrap-'));
  const lock = '{}';
  const pinned = join(dir, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin');
  await mkdir(pinned, { recursive: true });
  await symlink(process.execPath, join(pinned, 'node'));
  await mkdir(join(dir, 'tools'));
  await cp(BOOTSTRAP, join(dir, 'tools/bootstrap.cjs'));
  await writeFile(join(dir, 'package-lock.json'), lock);
  await writeFile(join(dir, 'node_modules/.flotilla-lock'), createHash('sha256').update(lock).digest('hex'));
  await writeFile(join(dir, 'package.json'), JSON.stringify({ scripts: { hub: 'node tools/bootstrap.cjs program.mjs' } }));
  await writeFile(join(dir, 'program.mjs'), PROGRAM);
  await mkdir(join(dir, 'apps/one/src'), { recursive: true });
  await writeFile(join(dir, 'apps/one/package.json'), JSON.stringify({ nodeFlags: ['--max-semi-space-size=3'] }));
  await writeFile(join(dir, 'apps/one/src/main.mjs'), 'console.log(JSON.stringify(process.execArgv));');
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(() => undefined);
  return { dir, read, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

// Other systems tell only of a starter that is gone, not of one beyond it.
const signals = process.platform === 'linux' ? (['SIGTERM', 'SIGKILL'] as const) : (['SIGTERM'] as const);

test.each(signals)('a program that npm started ends in order when npm ends by %s', async (signal) => {
  await using repository = await makeRepository();
  const npm = await startServerProcess({
    name: 'npm',
    program: (await findProgram('npm')) ?? expect.fail('no npm on PATH'),
    args: ['run', 'hub', '--', '--an-argument'],
    logFile: join(repository.dir, 'log'),
    cwd: repository.dir,
    env: { npm_config_cache: join(repository.dir, 'npm'), npm_config_update_notifier: 'false' },
  });
  await using _npm = npm;
  await expect.poll(() => repository.read('pid'), { timeout: 25_000 }).toBeTruthy();
  const pid = Number(await repository.read('pid'));
  expect(isAlive(pid)).toBe(true);
  try {
    await npm.stop({ signal });
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    expect(await repository.read('ended')).toBe('');
  } finally {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  }
});

test('a program runs with the flags of its package.json, and with those that are given', async () => {
  await using repository = await makeRepository();
  const args = ['tools/bootstrap.cjs', '--stack-trace-limit=5', 'apps/one/src/main.mjs'];
  const output = await runCommand(process.execPath, args, { cwd: repository.dir });
  expect(JSON.parse(output)).toEqual(expect.arrayContaining(['--max-semi-space-size=3', '--stack-trace-limit=5']));
});

test('packages that lie elsewhere and are not the locked ones are left alone, and what to do is said', async () => {
  await using repository = await makeRepository();
  await using other = await makeRepository();
  const link = join(repository.dir, 'node_modules');
  await rm(link, { recursive: true });
  await symlink(join(other.dir, 'node_modules'), link);
  await writeFile(join(repository.dir, 'package-lock.json'), '{ "newer": true }');
  const run = runCommand(process.execPath, ['tools/bootstrap.cjs', 'apps/one/src/main.mjs'], { cwd: repository.dir });
  await expect(run).rejects.toThrow(`node_modules is a link to ${join(other.dir, 'node_modules')}`);
  expect(await other.read('node_modules/.flotilla-lock')).toBeDefined();
});

test('a program is told when its command was given', async () => {
  await using repository = await makeRepository();
  await writeFile(join(repository.dir, 'program.mjs'), 'console.log(process.env.FLOTILLA_STARTED_AT);');
  const before = Date.now();
  const told = Number(await runCommand(process.execPath, ['tools/bootstrap.cjs', 'program.mjs'], { cwd: repository.dir }));
  expect(told).toBeGreaterThan(before - 1000);
  expect(told).toBeLessThanOrEqual(Date.now());
});
