/** The script that the Plans of examples/kubeadm run, on a folder that stands for the node's root, beside programs that write down how they were called. */
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { afterEach, beforeEach, expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../examples/kubeadm/image/upgrade.sh');
const VERSION = 'v1.33.4';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'flotilla-kubeadm-'));
  for (const folder of ['image', 'path', 'host/usr/bin', 'host/etc/kubernetes']) await mkdir(join(dir, folder), { recursive: true });
  await cp(SCRIPT, join(dir, 'image/upgrade.sh'));
  for (const name of ['kubeadm', 'kubelet', 'kubectl']) {
    await writeFile(join(dir, 'host/usr/bin', name), 'old');
    await program(`image/${name}`, 'new');
  }
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function program(name: string, body: string): Promise<void> {
  await writeFile(join(dir, name), `#!/bin/sh\n${body}\n`);
  await chmod(join(dir, name), 0o755);
}

/** Runs the script; `answers` is the body of what runs on the host. Returns the commands that ran there. */
async function run(answers: string, ...args: string[]): Promise<string[]> {
  await program('path/chroot', `shift; echo "$*" >> ${dir}/calls; ${answers}`);
  const env = {
    PATH: `${join(dir, 'path')}:/usr/bin:/bin`,
    HOST_ROOT: join(dir, 'host'),
    SYSTEM_UPGRADE_PLAN_LATEST_VERSION: VERSION,
    PAUSE_SECONDS: '0',
  };
  await runCommand('/bin/sh', [join(dir, 'image/upgrade.sh'), ...args], { env, timeoutMs: 20_000 });
  return calls();
}

const calls = async (): Promise<string[]> => (await readFile(join(dir, 'calls'), 'utf8').catch(() => '')).trim().split('\n');
const onHost = (name: string): Promise<string> => readFile(join(dir, 'host/usr/bin', name), 'utf8');
const runs = (version: string) => `case "$*" in *configmap*) printf 'apiVersion: v1\\nkubernetesVersion: ${version}\\n';; esac`;
const RESTART = ['systemctl daemon-reload', 'systemctl restart kubelet'];

test('the first node of a control plane upgrades the cluster, the next ones themselves', async () => {
  await writeFile(join(dir, 'host/etc/kubernetes/admin.conf'), '');
  expect((await run(runs('v1.32.9'))).slice(1)).toEqual([`kubeadm upgrade apply --yes ${VERSION}`, ...RESTART]);
  await rm(join(dir, 'calls'));
  expect((await run(runs(VERSION))).slice(1)).toEqual(['kubeadm upgrade node', ...RESTART]);
  for (const name of ['kubeadm', 'kubelet', 'kubectl']) expect(await onHost(name)).toContain('new');
});

test('another node upgrades itself', async () => {
  expect(await run('')).toEqual(['kubeadm upgrade node', ...RESTART]);
  expect([await onHost('kubelet'), await onHost('kubectl')]).toEqual([expect.stringContaining('new'), 'old']);
});

test.each([
  ['kubeadm fails', 'case "$*" in "kubeadm upgrade node") exit 1;; esac', false],
  ['nobody knows what the control plane runs', 'true', true],
])('where %s, the kubelet stays', async (_, answers, isControlPlane) => {
  if (isControlPlane) await writeFile(join(dir, 'host/etc/kubernetes/admin.conf'), '');
  await expect(run(answers)).rejects.toThrow();
  expect(await onHost('kubelet')).toBe('old');
  expect(await calls()).not.toContain(RESTART[1]);
});

test('others wait until the Plan is through on every node of the control plane, and while nobody answers', async () => {
  const answers = [`exit 1`, `case "$*" in *!plan*) ;; *) ;; esac`, `case "$*" in *!plan*) echo node/2;; *) echo node/1;; esac`];
  const turns = answers.map((answer, turn) => `[ $n -le ${(turn + 1) * 2} ] && { ${answer}; exit 0; }`).join('\n');
  const counted = `echo "$*" >> ${dir}/asked\nn=$(wc -l < ${dir}/asked)\n${turns}\ncase "$*" in *!plan*) ;; *) echo node/1; echo node/2;; esac`;
  await program('image/kubectl', counted);
  await run('', 'wait', 'kubeadm-control-plane-v1-33-4');
  const asked = (await readFile(join(dir, 'asked'), 'utf8')).trim().split('\n');
  expect(asked.length).toBeGreaterThanOrEqual(7);
  expect(asked.at(-1)).toBe(`get nodes --selector ${CONTROL_PLANE},!plan.upgrade.cattle.io/kubeadm-control-plane-v1-33-4 --output name`);
  expect(await onHost('kubelet')).toBe('old');
});
