/** `flotilla plan --inspect` beside a real agent, and a runtime that stands for a node. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { untyped } from '@flotilla/api';
import { PlanAnswer } from '@flotilla/api/answers';
import { ConfigMap, Job } from '@flotilla/api/core';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { INSPECT_NAMESPACE, SpokeName } from '@flotilla/api/ran';
import { childEnvironment, endCommand } from '@flotilla/control-plane/processes';
import { eventually } from '@flotilla/pace/testing';
import { createClient } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentSubject, startAgentSubject } from '../../conformance/agent-subject.ts';
import { SUITE_CADENCE } from '../../conformance/works.ts';
import { flotilla } from '../../integration/cli/flotilla.ts';
import { programFile } from '../../support/program-files.ts';
import { hostOf, type PullerWorld, REGISTRY_NAME, startPuller, startPullerWorld } from '../image-puller-fixture.ts';
import { RUNTIMES, type RuntimeNode } from '../planned-bytes/runtimes.ts';

const canRun = process.getuid?.() === 0 && existsSync('/usr/bin/containerd');
if (!canRun) console.log("skipped: a node's runtime needs root and Debian's containerd");

const stack = new AsyncDisposableStack();
let images: PullerWorld;
let node: RuntimeNode;
let subject: AgentSubject;
let arguments_: string[];

const Namespace = untyped('v1', 'Namespace', 'namespaces', false);

beforeAll(async () => {
  if (!canRun) return;
  images = stack.use(await startPullerWorld('inspect', [400_000, 300_000]));
  node = stack.use((await RUNTIMES[0]?.start(images.registry.url)) ?? expect.fail());
  subject = stack.use(await startAgentSubject({ works: SUITE_CADENCE, garbageCollection: true }));
  arguments_ = await writePlan();
});
afterAll(() => stack.disposeAsync());

async function writePlan(): Promise<string[]> {
  const conf = join(images.folder.path, 'registries.conf');
  await writeFile(conf, `[[registry]]\nprefix = "${REGISTRY_NAME}"\nlocation = "${hostOf(images.registry.url)}"\ninsecure = true\n`);
  const file = join(images.folder.path, 'plan.json');
  const config = {
    apiVersion: 'ran.openshift.io/v1alpha1',
    kind: 'PreCachingConfig',
    metadata: { name: 'config', namespace: 'default' },
    spec: { overrides: { platformImage: images.release.release } },
  };
  const template = {
    apiVersion: 'work.open-cluster-management.io/v1alpha1',
    kind: 'ManifestWorkReplicaSet',
    metadata: { name: 'template', namespace: 'default' },
    spec: {
      manifestWorkTemplate: {
        workload: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } }] },
      },
      placementRefs: [{ name: 'all' }],
    },
  };
  const upgrade = {
    apiVersion: 'ran.openshift.io/v1alpha1',
    kind: 'ClusterGroupUpgrade',
    metadata: { name: 'planned', namespace: 'default' },
    spec: {
      clusters: [subject.cluster],
      manifestWorkTemplates: ['template'],
      preCaching: true,
      preCachingConfigRef: { name: 'config' },
      enable: false,
      remediationStrategy: { maxConcurrency: 1, timeout: 60 },
    },
  };
  await writeFile(file, [config, template, upgrade].map((object) => JSON.stringify(object)).join('\n---\n'));
  return ['plan', '-f', file, '--registries-conf', conf, '--inspect', '--puller-image', 'registry.example/puller:1', '-o', 'json'];
}

/** Stands for kubelet and kernel: runs the Job's program as it is told, but for paths of this machine. */
function startKubelet(): AsyncDisposable {
  const stop = new AbortController();
  const spoke = createClient({ kubeconfigPath: subject.spokeKubeconfig });
  const at = { namespace: INSPECT_NAMESPACE, name: SpokeName.job };
  const running = (async () => {
    let ran: string | undefined;
    while (!stop.signal.aborted) {
      const job = await spoke.get(Job, at).catch(() => undefined);
      if (job && job.metadata.uid !== ran && job.metadata.deletionTimestamp === undefined) {
        ran = job.metadata.uid;
        await runJob(await spoke.get(ConfigMap, { ...at, name: SpokeName.specConfigMap }));
      }
      await delay(100);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await spoke.close();
    },
  };
}

async function runJob(config: unknown): Promise<void> {
  const { binaryData } = config as { binaryData: Record<string, string> };
  const dir = await mkdtemp(join(images.folder.path, 'job-'));
  for (const [key, value] of Object.entries(binaryData)) await writeFile(join(dir, key), Buffer.from(value, 'base64'));
  const env = { ...node.env, MODE: 'inspect', CONFIG_VOLUME_PATH: dir, NAMESPACE: INSPECT_NAMESPACE, KUBECONFIG: subject.spokeKubeconfig };
  await endCommand(process.execPath, [programFile('apps/image-puller/src/main.ts')], { env });
}

/** Objects on the hub that an inspection makes. */
async function madeOnHub(): Promise<string[]> {
  const [works, actions, views] = await Promise.all([
    subject.hub.list(ManifestWork, { namespace: subject.cluster }),
    subject.hub.list(ManagedClusterAction, { namespace: subject.cluster }),
    subject.hub.list(ManagedClusterView, { namespace: subject.cluster }),
  ]);
  return [...works.items, ...actions.items, ...views.items].map(({ metadata }) => metadata.name);
}

async function expectNothingLeft(): Promise<void> {
  expect(await madeOnHub()).toEqual([]);
  const spoke = createClient({ kubeconfigPath: subject.spokeKubeconfig });
  try {
    await eventually(async () => (await spoke.get(Namespace, { name: INSPECT_NAMESPACE })) === undefined, 'the namespace to go', 30_000);
  } finally {
    await spoke.close();
  }
}

const served = (): number =>
  node.registry.transfers.reduce((sum, { digest, bytes }) => (images.release.layers.has(digest) ? sum + bytes : sum), 0);

describe.skipIf(!canRun)('an inspection', () => {
  test('by a work is exact, leaves nothing, and the pull is served what it says', async () => {
    await using _ = startKubelet();
    const spec = { additionalImages: images.release.components['component-1'] ?? '' };
    expect((await (await startPuller(images.folder.path, spec, node.env)).finished).exitCode).toBe(0);
    await eventually(
      async () => JSON.stringify(await subject.hub.get(ManagedCluster, { name: subject.cluster })).includes('works'),
      'its claims',
    );

    const said = await flotilla(subject.hubKubeconfig, ...arguments_, '--yes');
    // 35 GiB, which a spec wants by default, are free on some machines alone.
    expect([0, 3]).toContain(said.code);
    expect(said.err).toBe('');
    const { pulls, refused } = PlanAnswer.parse(JSON.parse(said.out));
    expect(refused).toBeUndefined();
    expect(pulls).toMatchObject([
      {
        clusters: 1,
        example: subject.cluster,
        says: 'inspected',
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        runtime: expect.stringMatching(/^containerd 1\./),
        images: { missing: { certainty: 'exact', value: 2 }, of: 3 },
        bytes: { certainty: 'exact' },
        free: { certainty: 'exact' },
      },
    ]);
    await expectNothingLeft();

    const before = served();
    const run = await (await startPuller(images.folder.path, { 'platform.image': images.release.release }, node.env)).finished;
    expect(run.exitCode, run.log).toBe(0);
    expect(served() - before).toBe(pulls[0]?.bytes.value);
    const after = PlanAnswer.parse(JSON.parse((await flotilla(subject.hubKubeconfig, ...arguments_, '--yes')).out));
    expect(after.pulls).toMatchObject([{ images: { missing: { value: 0 } }, bytes: { certainty: 'exact', value: 0 } }]);
  });

  test('that nobody agreed to, or that is a dry run, writes nothing', async () => {
    expect(await flotilla(subject.hubKubeconfig, ...arguments_)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--yes is missing'),
    });
    const dry = await flotilla(subject.hubKubeconfig, ...arguments_, '--dry-run');
    expect(PlanAnswer.parse(JSON.parse(dry.out)).pulls).toMatchObject([{ says: 'not inspected: --dry-run' }]);
    expect(await madeOnHub()).toEqual([]);
  });

  test('without an answer is said with its time, and leaves nothing', async () => {
    const said = await flotilla(subject.hubKubeconfig, ...arguments_, '--yes', '--inspect-timeout', '4s');
    expect(PlanAnswer.parse(JSON.parse(said.out)).pulls).toMatchObject([
      { says: 'no answer for 4 s', bytes: { certainty: 'at-most' }, free: { certainty: 'unknown' } },
    ]);
    await expectNothingLeft();
  });

  test('that is interrupted takes away what it had begun', async () => {
    const main = programFile('apps/cli/src/main.ts');
    const env = childEnvironment({ KUBECONFIG: subject.hubKubeconfig, XDG_CACHE_HOME: images.folder.path });
    const child: ChildProcess = spawn(process.execPath, [main, ...arguments_, '--yes'], { env, stdio: 'ignore' });
    await eventually(async () => (await madeOnHub()).length > 0, 'the inspection to begin', 30_000);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([1, null]);
    await expectNothingLeft();
  });

  test('by actions says the same, and leaves nothing', async () => {
    await using _ = startKubelet();
    const claims = { status: { clusterClaims: [] } };
    await subject.hub.patch(ManagedCluster, { name: subject.cluster }, claims, { type: 'merge', subresource: 'status' });
    const said = await flotilla(subject.hubKubeconfig, ...arguments_, '--yes');
    expect(PlanAnswer.parse(JSON.parse(said.out)).pulls).toMatchObject([{ says: 'inspected', bytes: { certainty: 'exact', value: 0 } }]);
    await expectNothingLeft();
  });
});
