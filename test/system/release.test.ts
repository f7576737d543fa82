import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, runCommand } from '@flotilla/control-plane/processes';
import { type Registry, startRegistry } from '@flotilla/control-plane/servers';
import { startHttpFront } from '@flotilla/control-plane/simulators';
import { ensureTools, type Tools } from '@flotilla/control-plane/toolchain';
import { parseImageReference, RegistryClient } from '@flotilla/registry';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { makeCheckout } from './release-checkout.ts';

const VERSION = '7.8.9';
const canBuild = (await findProgram('apt-get')) !== undefined && (await findProgram('dpkg-deb')) !== undefined;
const apps = ['console', 'hub', 'image-puller', 'spoke-agent', 'upgrade-operator', 'version-operator'];
const charts = ['charts/flotilla-hub', 'charts/flotilla-spoke'];

let scratch: string;
let checkout: string;
let release: string;
let tools: Tools;
let registry: Registry;
let host: string;

/** Runs the release command of a checkout. */
const makeRelease = (folder: string, ...args: string[]): Promise<string> =>
  runCommand(process.execPath, [join(folder, 'tools/src/release.ts'), ...args], {
    cwd: folder,
    timeoutMs: 600_000,
    env: { COSIGN_PASSWORD: '' },
  });
/** Runs the released command line, far from any checkout. */
const flotilla = (...args: string[]): Promise<string> =>
  runCommand(process.execPath, [join(release, 'cli/flotilla'), ...args], { cwd: scratch, timeoutMs: 300_000 });
const tagsOf = async (repository: string): Promise<string[]> => {
  const answer = await fetch(`http://${host}/v2/${repository}/tags/list`);
  return answer.status === 404 ? [] : (z.object({ tags: z.array(z.string()).nullable() }).parse(await answer.json()).tags ?? []);
};

describe.skipIf(!canBuild)('a release', () => {
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'flotilla-release-'));
    tools = await ensureTools(['helm', 'kubectl', 'registry']);
    registry = await startRegistry();
    host = new URL(registry.url).host;
    checkout = join(scratch, 'first');
    release = join(scratch, 'release');
    await makeCheckout(checkout);
    await makeRelease(checkout, '--version', VERSION, '--out', release);
  }, 900_000);

  afterAll(async () => {
    await registry?.stop();
    if (scratch) await rm(scratch, { recursive: true, force: true });
  });

  test('has the same bytes from another checkout', async () => {
    const other = join(scratch, 'somewhere/else/second');
    await mkdir(other, { recursive: true });
    await makeCheckout(other);
    const again = join(scratch, 'again');
    await makeRelease(other, '--version', VERSION, '--out', again);
    const sums = await readFile(join(again, 'SHA256SUMS'), 'utf8');
    expect(sums).toBe(await readFile(join(release, 'SHA256SUMS'), 'utf8'));
    await runCommand('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: again });
    const found = (await readdir(again, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(sums.trim().split('\n')).toHaveLength(found.length - 1);
  }, 600_000);

  test('refuses what would make it worth nothing, and leaves nothing', async () => {
    await writeFile(join(checkout, 'left-over.txt'), '');
    const out = join(scratch, 'never');
    await expect(makeRelease(checkout, '--version', VERSION, '--out', out)).rejects.toThrow('no commit has what is in left-over.txt');
    await rm(join(checkout, 'left-over.txt'));
    await expect(makeRelease(checkout, '--version', VERSION, '--out', release)).rejects.toThrow('name a folder that is not there');
    for (const version of ['v1.2.3', '1.2', '1.2.3+build', '01.2.3', '../1.2.3'])
      await expect(makeRelease(checkout, '--version', version, '--out', out)).rejects.toThrow('must be a semantic version');
    await expect(makeRelease(checkout, '--version', VERSION)).rejects.toThrow('--version and --out are required');
    expect((await readdir(scratch)).filter((name) => name === 'never' || name.startsWith('.release-'))).toEqual([]);
  });

  test('pins its images in charts, lists and provenance', async () => {
    const list = (await readFile(join(release, 'images.txt'), 'utf8')).trim().split('\n');
    expect(list.map((line) => /^flotilla\.local\/([a-z-]+):7\.8\.9@sha256:[0-9a-f]{64}$/.exec(line)?.[1])).toEqual(apps);
    const { mirror } = parse(await readFile(join(release, 'image-set-configuration.yaml'), 'utf8'));
    expect(mirror).toEqual({ additionalImages: list.map((name) => ({ name })) });

    const hub = join(release, 'charts', `flotilla-hub-${VERSION}.tgz`);
    const render = (...more: string[]) => runCommand(tools.path('helm'), ['template', 'hub', hub, '--kube-version', '1.36.0', ...more]);
    await expect(render()).rejects.toThrow('imageRegistry is not set and has no default');
    const rendered = await render('--set', 'imageRegistry=registry.example.com/f');
    for (const line of list.filter((one) => /\/(hub|image-puller):/.test(one)))
      expect(rendered).toContain(line.replace('flotilla.local', 'registry.example.com/f').replace(`:${VERSION}`, ''));

    const { subject, predicate } = JSON.parse(await readFile(join(release, 'provenance.intoto.json'), 'utf8'));
    const commit = (await runCommand('git', ['rev-parse', 'HEAD'], { cwd: checkout })).trim();
    expect(predicate.buildDefinition.resolvedDependencies[0]).toEqual({ name: 'source', digest: { gitCommit: commit } });
    const named = new Map(subject.map((one: { name: string; digest: { sha256: string } }) => [one.name, one.digest.sha256]));
    const sums = (await readFile(join(release, 'SHA256SUMS'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.split('  '));
    expect(sums.filter(([sum, path]) => path !== 'provenance.intoto.json' && named.get(path) !== sum)).toEqual([]);
  });

  test('has a command line that npm installs, and that kubectl finds', async () => {
    const home = await mkdtemp(join(tmpdir(), 'flotilla-npm-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const options = ['--prefix', home, '--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await runCommand('npm', ['install', ...options, join(release, 'cli', `flotilla-${VERSION}.tgz`)], { cwd: home, timeoutMs: 120_000 });
    const bin = join(home, 'node_modules/.bin');
    const env = { PATH: `${bin}:${join(process.execPath, '..')}:/usr/bin:/bin`, INIT_CWD: home };
    expect(await runCommand(join(bin, 'flotilla'), ['--help'], { cwd: home, env })).toContain('mirror [options]');
    expect(await runCommand(join(bin, 'kubectl-flotilla'), ['--help'], { cwd: home, env })).toContain('Usage: ');
    const line = await runCommand(tools.path('kubectl'), ['flotilla', '--version'], { cwd: home, env });
    expect(line).toMatch(/^flotilla 7\.8\.9 \(commit [0-9a-f]{40}\)\n$/);
    // Nothing but the packaged chart can be the default here.
    const join_ = ['join', '--hub-kubeconfig', 'none', '--name', 'a', '--image', 'r.example/a', '--print'];
    await expect(runCommand(join(bin, 'flotilla'), join_, { cwd: home, env })).rejects.toThrow(/none/);
  });

  test('has a command line of one file, and completions of its commands', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flotilla-one-file-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp(join(release, 'cli/flotilla'), join(folder, 'flotilla'));
    const env = { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin` };
    expect(await runCommand(join(folder, 'flotilla'), ['--help'], { cwd: folder, env })).toContain('Commands:');
    const complete = async (...words: string[]) => {
      const script = `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _flotilla; echo "\${COMPREPLY[*]}"`;
      return (await runCommand('bash', ['-c', script, join(release, 'completions/flotilla.bash'), 'flotilla', ...words])).trim();
    };
    expect(await complete('mir')).toBe('mirror');
    expect(await complete('payload', 'li')).toBe('lint');
    expect(await complete('mirror', '--f')).toBe('--from');
    expect(await complete('mirror', '--from', 'x', '--t')).toBe('--to');
    expect(await complete('completion', 'f')).toBe('fish');
    // The file's own name is the shell's to complete.
    expect(await complete('mirror', '--from', 'x')).toBe('');
  });

  test('is mirrored to a registry that has nothing else, once', async () => {
    const to = `${host}/mirrored`;
    const printed = (await flotilla('mirror', '--from', release, '--to', to, '--insecure-registry')).trim().split('\n');
    expect(printed.map((line) => line.replace(/@.*/, ''))).toEqual([...charts, ...apps].map((name) => `${to}/${name}:${VERSION}`));
    await using client = new RegistryClient({ insecureHosts: [host] });
    for (const line of printed)
      expect(await client.headManifest(parseImageReference(line.replace(/@.*/, '')))).toBe(line.replace(/.*@/, ''));
    const shown = await runCommand(
      tools.path('helm'),
      ['show', 'chart', `oci://${to}/charts/flotilla-hub`, '--version', VERSION, '--plain-http'],
      { env: { HOME: scratch } },
    );
    expect(parse(shown)).toMatchObject({ name: 'flotilla-hub', version: VERSION, appVersion: VERSION });

    const since = (await registry.served()).requests.length;
    await flotilla('mirror', '--from', release, '--to', to, '--insecure-registry');
    const { requests } = await registry.served({ since });
    expect(requests.filter(({ method, uri }) => method === 'POST' || (method === 'PUT' && uri.includes('/blobs/')))).toEqual([]);
  });

  test('is not mirrored when it is not whole, and the message names the gap', async () => {
    const broken = join(scratch, 'broken');
    await cp(release, broken, { recursive: true });
    onTestFinished(() => rm(broken, { recursive: true }));
    const [first = ''] = (await readFile(join(broken, 'SHA256SUMS'), 'utf8')).split('\n').filter((line) => line.includes('images/blobs'));
    const path = first.slice(66);
    await rm(join(broken, path));
    const since = (await registry.served()).requests.length;
    const mirror = () => flotilla('mirror', '--from', broken, '--to', `${host}/broken`, '--insecure-registry');
    await expect(mirror()).rejects.toThrow(`${path} is missing`);
    // Somebody who has edited the list as well does not get further.
    const sums = await readFile(join(broken, 'SHA256SUMS'), 'utf8');
    await writeFile(
      join(broken, 'SHA256SUMS'),
      sums
        .split('\n')
        .filter((line) => !line.includes(path))
        .join('\n'),
    );
    await expect(mirror()).rejects.toThrow(/is not whole: .* lacks sha256:/);
    await expect(flotilla('mirror', '--from', scratch, '--to', host)).rejects.toThrow('SHA256SUMS is missing');
    expect((await registry.served({ since })).requests).toEqual([]);
  });

  test('has no tag anywhere when the registry refuses half way, and is completed by the same command', async () => {
    let puts = 0;
    // The content of three images is there by then, and no tag.
    await using front = await startHttpFront(registry.url, {
      answers({ method, url }, response) {
        if (method !== 'PUT' || !url?.includes('/manifests/') || ++puts <= 6) return false;
        response.writeHead(403, { 'content-type': 'application/json' }).end('{"errors":[{"code":"DENIED","message":"quota"}]}');
        return true;
      },
    });
    const to = `${front.at}/half`;
    await expect(flotilla('mirror', '--from', release, '--to', to, '--insecure-registry')).rejects.toThrow(front.at);
    expect(puts).toBeGreaterThan(6);
    for (const name of [...charts, ...apps]) expect(await tagsOf(`half/${name}`)).toEqual([]);
    puts = Number.NEGATIVE_INFINITY;
    await flotilla('mirror', '--from', release, '--to', to, '--insecure-registry');
    for (const name of [...charts, ...apps]) expect(await tagsOf(`half/${name}`)).toEqual([VERSION]);
  });

  test('is signed by a key, and cosign verifies the list and every image', async () => {
    const cosign = (await ensureTools(['cosign'])).path('cosign');
    const env = { COSIGN_PASSWORD: '', HOME: scratch };
    await runCommand(cosign, ['generate-key-pair', '--output-key-prefix', 'cosign'], { cwd: scratch, env });
    const key = join(scratch, 'cosign.key');
    const signed = join(scratch, 'signed');
    const to = `${host}/signed`;
    await makeRelease(checkout, '--version', VERSION, '--out', signed, '--push', to, '--insecure', '--sign-key', key);
    const verify = (command: string, ...args: string[]) =>
      runCommand(cosign, [command, '--key', join(scratch, 'cosign.pub'), '--insecure-ignore-tlog', ...args], { cwd: signed, env });
    await verify('verify-blob', '--bundle', 'SHA256SUMS.sigstore.json', 'SHA256SUMS');
    await expect(verify('verify-blob', '--bundle', 'SHA256SUMS.sigstore.json', 'images.txt')).rejects.toThrow();
    for (const name of [...charts, ...apps]) await verify('verify', '--allow-http-registry', `${to}/${name}:${VERSION}`);
    await expect(verify('verify', '--allow-http-registry', `${host}/mirrored/hub:${VERSION}`)).rejects.toThrow(
      /no signatures found|no matching/,
    );
    expect(await readFile(join(signed, 'images.txt'), 'utf8')).toContain(`${to}/hub:${VERSION}@sha256:`);
  }, 900_000);

  test('is not published over other content of its version', async () => {
    // Its charts name another registry.
    const changed = join(scratch, 'signed');
    const to = `${host}/taken`;
    await flotilla('mirror', '--from', release, '--to', to, '--insecure-registry');
    const since = (await registry.served()).requests.length;
    await expect(flotilla('mirror', '--from', changed, '--to', to, '--insecure-registry')).rejects.toThrow(
      /nothing was published.*charts\/flotilla-hub:7\.8\.9 is sha256:/,
    );
    expect((await registry.served({ since })).requests.filter(({ method }) => method !== 'HEAD')).toEqual([]);
  });
});
