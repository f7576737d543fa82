/** What docs/gitops.md says of kubectl, and the examples for Ansible and Terraform by programs on PATH, against a hub that carries the upgrade out. */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Namespace } from '@flotilla/api/core';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { findProgram, runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { afterEach, beforeEach, expect } from 'vitest';
import { blocksOf } from '../../fixtures/documented-blocks.ts';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { HubWorld, spokeNames, startSurroundings, testIn } from '../../integration/world.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples/gitops');
const NAMESPACE = 'fleet-upgrades';
const RELEASE = { namespace: NAMESPACE, name: 'release' };
const NAMED = `${RELEASE.namespace}/${RELEASE.name}`;
const PAGE = join(import.meta.dirname, '../../../docs/gitops.md');
/** Words of kubectl when a wait ends well. */
const MET = 'clustergroupupgrade.ran.openshift.io/release condition met\n';
const PATIENCE_MS = 110_000;
const [GOOD, BAD] = spokeNames(2) as [string, string];

const test = testIn(async () => {
  const simulated = { work: { seconds: 3, jitter: 0 } };
  const world = await new HubWorld(await startSurroundings({ spokes: [GOOD, BAD], simulated })).begin({ spokes: [] });
  await world.client.create(Namespace, { metadata: { name: NAMESPACE } });
  await createTemplate(world.client, 'release', { namespace: NAMESPACE });
  return world;
});

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-automation-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const upgradeOf = (cluster: string, spec: Partial<ClusterGroupUpgradeSpec> = {}) => ({
  apiVersion: ClusterGroupUpgrade.apiVersion,
  kind: ClusterGroupUpgrade.kind,
  metadata: RELEASE,
  spec: {
    clusters: [cluster],
    enable: true,
    manifestWorkTemplates: ['release'],
    remediationStrategy: { maxConcurrency: 1, timeout: 240 },
    ...spec,
  },
});

/** Puts an example beside the upgrade that it applies. */
async function place(example: string, cluster: string): Promise<void> {
  await copyFile(join(EXAMPLES, example), join(dir, example));
  await writeFile(join(dir, 'cluster-group-upgrade.yaml'), JSON.stringify(upgradeOf(cluster)));
}

/** Has the upgrade that runs on the cluster without success time out. */
async function letTimeOut(world: HubWorld): Promise<void> {
  await world.untilCondition(NAMED, 'Progressing', /^True/);
  world.clock.skip(241 * 60_000);
}

/** Another upgrade of the name can be made once this one is gone. */
async function remove(world: HubWorld): Promise<void> {
  await world.delete(NAMED);
  await eventually(async () => (await world.get(NAMED)) === undefined, 'the upgrade to be gone', 60_000);
}

test("the page's commands wait for success, for failure, and for images of all and of a part", async ({ world }) => {
  const [ready = '', failed = '', cached = '', inPart = '', ...others] = blocksOf(await readFile(PAGE, 'utf8')).map(({ script }) => script);
  expect(others).toEqual([]);
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  const env = { PATH: `${dirname(kubectl)}:/usr/bin:/bin`, KUBECONFIG: world.server.kubeconfig };
  const run = (script: string) => runCommand('/bin/sh', ['-eu', '-c', script], { env, timeoutMs: PATIENCE_MS });
  const preCachingConfigRef = { name: 'config', namespace: 'default' };
  await world.client.create(ClusterGroupUpgrade, upgradeOf(GOOD, { preCaching: true, preCachingConfigRef }));
  expect(await Promise.all([run(ready), run(cached)])).toEqual([MET, MET]);
  expect(await world.condition(NAMED, 'Succeeded')).toMatch(/^True Completed/);
  // An edit past the end is no success; put back, it is one again, and neither wait hangs.
  const edit = (clusters: readonly string[]) => world.client.patch(ClusterGroupUpgrade, RELEASE, { spec: { clusters } }, { type: 'merge' });
  await edit([GOOD, BAD]);
  expect(await run(failed)).toBe(MET);
  expect(await world.condition(NAMED, 'EditsIgnored')).toMatch(/^True EditsIgnored: .*spec\.clusters/);
  await edit([GOOD]);
  expect(await run(ready)).toBe(MET);
  await remove(world);

  world.spokes.setFaults(BAD, { failJob: true });
  await world.client.create(
    ClusterGroupUpgrade,
    upgradeOf(GOOD, { clusters: [GOOD, BAD], enable: false, preCaching: true, preCachingConfigRef }),
  );
  expect(await run(inPart)).toBe(MET);
  await remove(world);

  world.spokes.setFaults(BAD, { workNeverAvailable: true });
  await world.client.create(ClusterGroupUpgrade, upgradeOf(BAD));
  const ended = run(failed);
  await letTimeOut(world);
  expect(await ended).toBe(MET);
  expect(await world.condition(NAMED, 'Succeeded')).toMatch(/^False/);
  await remove(world);
});

async function ansible({ server }: HubWorld): Promise<string> {
  const env = { K8S_AUTH_KUBECONFIG: server.kubeconfig, ANSIBLE_LOCALHOST_WARNING: 'false', ANSIBLE_HOME: dir, ANSIBLE_LOCAL_TEMP: dir };
  const args = ['--extra-vars', 'look_every_seconds=1', 'ansible-playbook.yaml'];
  return runCommand('ansible-playbook', args, { cwd: dir, env, timeoutMs: PATIENCE_MS });
}

/** Why Ansible cannot be had; undefined when it can. */
async function ansibleObstacle(): Promise<string | undefined> {
  if (!(await findProgram('ansible-playbook'))) return 'ansible-playbook is not on PATH';
  const known = await runCommand('ansible-doc', ['--list', '--type', 'module', 'kubernetes.core']).catch(() => '');
  return known.includes('kubernetes.core.k8s_info') ? undefined : 'Ansible has no collection kubernetes.core';
}

test('Ansible applies an upgrade and ends when it has succeeded', async ({ world, skip }) => {
  const obstacle = await ansibleObstacle();
  if (obstacle) return skip(obstacle);
  await place('ansible-playbook.yaml', GOOD);
  expect(await ansible(world)).toMatch(/localhost\s+: ok=3\s+changed=1\s.*failed=0/);
  expect(await world.condition(NAMED, 'Succeeded')).toMatch(/^True Completed/);
  await remove(world);
});

test('Ansible fails, with the words of the condition, when the upgrade has', async ({ world, skip }) => {
  const obstacle = await ansibleObstacle();
  if (obstacle) return skip(obstacle);
  world.spokes.setFaults(BAD, { workNeverAvailable: true });
  await place('ansible-playbook.yaml', BAD);
  const ended = ansible(world);
  await letTimeOut(world);
  await expect(ended).rejects.toThrow(/ended with 2/);
  expect(await world.condition(NAMED, 'Succeeded')).toMatch(/^False TimedOut/);
  await remove(world);
});

test('Terraform applies an upgrade and ends when it is ready, and has nothing to change afterwards', async ({ world, skip }) => {
  const program = (await findProgram('terraform')) ?? (await findProgram('tofu'));
  const provider = await findProgram('terraform-provider-kubernetes');
  if (!program || !provider) return skip('terraform or tofu, and terraform-provider-kubernetes, are not on PATH');
  await place('upgrade.tf', GOOD);

  await writeFile(
    join(dir, 'cli.rc'),
    `provider_installation {\n  dev_overrides {\n    "hashicorp/kubernetes" = "${dirname(provider)}"\n  }\n}\n`,
  );
  await mkdir(join(dir, 'home'));
  const env = {
    KUBE_CONFIG_PATH: world.server.kubeconfig,
    TF_CLI_CONFIG_FILE: join(dir, 'cli.rc'),
    HOME: join(dir, 'home'),
    CHECKPOINT_DISABLE: '1',
  };
  const run = (...args: string[]) => runCommand(program, [...args, '-no-color', '-input=false'], { cwd: dir, env, timeoutMs: PATIENCE_MS });
  expect(await run('apply', '-auto-approve')).toMatch(/Apply complete! Resources: 1 added, 0 changed, 0 destroyed/);
  expect(await world.condition(NAMED, 'Ready')).toMatch(/^True/);
  expect(await run('plan')).toMatch(/No changes/);
  expect(await run('apply', '-destroy', '-auto-approve')).toMatch(/1 destroyed/);
  await eventually(async () => (await world.get(NAMED)) === undefined, 'the upgrade to be gone', 60_000);
});
