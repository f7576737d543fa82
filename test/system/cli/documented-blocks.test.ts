/** The blocks of docs/cli.md, docs/windows.md and docs/troubleshooting.md, run as an operator types them: on a terminal, beside a real hub. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { childEnvironment, runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { blocksBelow } from '../../fixtures/documented-blocks.ts';
import { writeProgram } from '../../integration/cli/flotilla.ts';
import { RolloutWorld } from '../../integration/rollout/world.ts';
import { testIn } from '../../integration/world.ts';

const spokes = ['site-0093', 'site-0412', 'site-0415', 'site-4711', 'quick-1'];
const test = testIn(() => RolloutWorld.start({ spokes }));
const MINUTE = 60_000;

const page = (name: string): Promise<string> => readFile(join(import.meta.dirname, '../../../docs', name), 'utf8');

/** A namespace of its own with an upgrade, and a terminal whose kubeconfig stands in it. */
class Reader {
  readonly world: RolloutWorld;
  readonly namespace: string;
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(world: RolloutWorld, namespace: string, dir: string, env: NodeJS.ProcessEnv) {
    [this.world, this.namespace, this.#dir, this.#env] = [world, namespace, dir, env];
  }

  static async begin(world: RolloutWorld, namespace: string): Promise<Reader> {
    const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
    const dir = join(world.dir, namespace);
    await writeProgram(join(dir, 'bin'));
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, await readFile(world.server.kubeconfig));
    await runCommand(kubectl, ['--kubeconfig', kubeconfig, 'config', 'set-context', '--current', '--namespace', namespace]);
    await world.client.create(Namespace, { metadata: { name: namespace } });
    const path = [join(dir, 'bin'), dirname(kubectl), '/usr/bin', '/bin'].join(':');
    const env = { KUBECONFIG: kubeconfig, PATH: path, INIT_CWD: dir, XDG_CACHE_HOME: join(dir, 'cache'), TERM: 'xterm', LC_ALL: 'C.UTF-8' };
    return new Reader(world, namespace, dir, childEnvironment(env));
  }

  /** Creates the upgrade of the page. */
  async upgrade(name: string, clusters: readonly string[], spec: Record<string, unknown> = {}): Promise<void> {
    await this.world.policies(clusters, { [this.namespace]: {} });
    await this.world.upgrade(`${this.namespace}/${name}`, clusters, [this.namespace], spec);
  }

  /** Creates the upgrade of the page, whose clusters do not comply, and waits until they are under way. */
  async running(name: string, clusters: readonly [string, ...string[]]): Promise<void> {
    for (const cluster of clusters) this.world.propagator.script(`policies/${this.namespace}`, cluster, { never: true });
    await this.upgrade(name, clusters);
    await this.world.untilInProgress(`${this.namespace}/${name}`, clusters[0]);
  }

  /** Runs a block and answers each question with yes; throws unless it exits with 0. */
  async run(script: string): Promise<string> {
    const file = join(this.#dir, 'block.sh');
    await writeFile(file, script);
    const args = ['--quiet', '--return', '--command', `stty cols 160; exec sh -eu '${file}'`, '/dev/null'];
    const child = spawn('script', args, { cwd: this.#dir, env: this.#env, stdio: ['pipe', 'pipe', 'inherit'] });
    let out = '';
    let answered = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      for (const asked = out.split('[y/N]').length - 1; answered < asked; answered++) child.stdin.write('y\n');
    });
    const [code] = await once(child, 'close');
    expect(code, out).toBe(0);
    return out;
  }

  async write(file: string, object: object): Promise<void> {
    await writeFile(join(this.#dir, file), JSON.stringify(object));
  }
}

/** The one block below a heading. */
async function blockOf(name: string, heading: string): Promise<string> {
  const [block = '', ...more] = blocksBelow(await page(name), heading);
  expect(more).toEqual([]);
  return block;
}

const WAITS = { enable: false };

test('cli.md, status: rows, one, and one until it ends', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-status');
  await reader.upgrade('site-upgrade', ['quick-1']);
  expect(await reader.run(await blockOf('cli.md', 'status'))).toContain('of-status/site-upgrade');
  await world.untilCompleted('of-status/site-upgrade');
});

test('cli.md, wait: until the images are there', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-wait');
  const preCachingConfigRef = { name: 'config', namespace: 'default' };
  await reader.upgrade('site-upgrade', ['quick-1'], { ...WAITS, preCaching: true, preCachingConfigRef });
  expect(await reader.run(await blockOf('cli.md', 'wait'))).toContain('ready');
});

test('cli.md, why: of a cluster, and of all', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-why');
  await reader.upgrade('site-upgrade', ['site-4711'], WAITS);
  await world.untilCondition('of-why/site-upgrade', 'Validated', /^True/);
  expect(await reader.run(await blockOf('cli.md', 'why'))).toContain('spec.enable');
});

test('cli.md, plan: what is applied, what is in a file, and the digest that binds it', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-plan');
  await reader.upgrade('site-upgrade', ['site-4711'], WAITS);
  await world.untilCondition('of-plan/site-upgrade', 'Validated', /^True/);
  const { apiVersion, kind } = ClusterGroupUpgrade;
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  const spec = { clusters: ['site-4711'], managedPolicies: ['of-plan'], enable: false, remediationStrategy };
  await reader.write('site-upgrade.yaml', { apiVersion, kind, metadata: { name: 'filed', namespace: 'of-plan' }, spec });
  const said = await reader.run(await blockOf('cli.md', 'plan'));
  expect(said).toContain('rollout ~ 4 min');
  expect(said).toMatch(/flotilla\.io\/plan=\S+/);
});

test('cli.md, pause and resume: with a reason, at once, and on', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-pause');
  await reader.running('site-upgrade', ['quick-1']);
  expect(await reader.run(await blockOf('cli.md', 'pause and resume'))).toContain('ticket 4711');
  expect((await world.get('of-pause/site-upgrade'))?.status?.status.pausedAt).toBeUndefined();
});

test.for([0, 1])('cli.md, retry, line %i: what failed of an upgrade that has ended', async (line, { world }) => {
  const reader = await Reader.begin(world, `of-retry-${line}`);
  await reader.running('site-upgrade', ['site-0412', 'site-0415']);
  world.clock.skip(241 * MINUTE);
  await world.untilEnded(`of-retry-${line}/site-upgrade`);
  const lines = (await blockOf('cli.md', 'retry')).trim().split('\n');
  expect(lines).toHaveLength(2);
  await reader.run(lines[line] ?? '');
  expect((await world.get(`of-retry-${line}/site-upgrade-retry-1`))?.spec?.clusters).toEqual(['site-0412', 'site-0415']);
  await world.delete(`of-retry-${line}/site-upgrade-retry-1`);
});

test('cli.md, hold and unhold', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-hold');
  expect(await reader.run(await blockOf('cli.md', 'hold and unhold'))).toContain('disk is being replaced');
});

test('cli.md, window: shown, set twice, and taken away', async ({ world }) => {
  const reader = await Reader.begin(world, 'of-window');
  await reader.upgrade('site-upgrade', ['quick-1'], WAITS);
  expect(await reader.run(await blockOf('cli.md', 'window'))).toContain('0 22 * * 6');
  expect((await world.get('of-window/site-upgrade'))?.metadata.annotations ?? {}).toEqual({});
});

test('windows.md and troubleshooting.md: the upgrade release of namespace upgrades', async ({ world }) => {
  const reader = await Reader.begin(world, 'upgrades');
  world.propagator.script('policies/upgrades', 'site-4711', { never: true });
  await reader.upgrade('release', ['site-4711'], WAITS);
  await world.untilCondition('upgrades/release', 'Validated', /^True/);
  for (const heading of ['Once', 'Again and again']) await reader.run(await blockOf('windows.md', heading));
  expect((await world.get('upgrades/release'))?.metadata.annotations).toHaveProperty('flotilla.io/window-schedule', '0 22 * * 6');
  expect(await reader.run(await blockOf('windows.md', 'How long must it be?'))).toContain(': FITS');
  expect(await reader.run(await blockOf('troubleshooting.md', 'Troubleshooting'))).toContain('site-4711');
  await reader.run('flotilla window clear release -n upgrades --yes');
  await reader.run(await blockOf('windows.md', 'From a tool that opens windows'));
  await eventually(async () => (await world.get('upgrades/release'))?.spec?.enable === true);
});
