import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endCommand } from '@flotilla/control-plane/processes';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
const upgrade = (status: string) => `apiVersion: upgrade.managed.openshift.io/v1alpha1
kind: UpgradeConfig
metadata: {name: managed-upgrade-config}
spec:
  type: ARO
  upgradeAt: "2026-02-01T10:00:00Z"
  PDBForceDrainTimeout: 60
  desired: {version: 4.14.12, channel: stable-4.14}
${status}`;
const UNDER_WAY = `status:
  history:
  - version: 4.14.12
    precedingVersion: 4.14.9
    phase: Upgrading
    conditions:
    - {type: ClusterHealthyBeforeUpgrade, status: "False", message: "degraded operators: a", lastTransitionTime: "2026-02-01T10:00:02Z"}
    - {type: StartedNotificationSent, status: "True", completeTime: "2026-02-01T10:00:01Z"}
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-upgrade-'));
  await writeFile(join(folder, 'new.yaml'), upgrade(''));
  await writeFile(join(folder, 'under-way.yaml'), upgrade(UNDER_WAY));
  await writeFile(join(folder, 'wrong.yaml'), upgrade('').replace('ARO', 'GKE'));
  await writeFile(join(folder, 'broken.yaml'), 'spec: [\nkind');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command as a process; files are relative to the folder. */
async function run(...args: string[]) {
  const env = { INIT_CWD: folder, HOME: folder };
  const { code, stdout: out, stderr: err } = await endCommand(process.execPath, [MAIN, 'upgrade', ...args], { cwd: folder, env });
  return { code, out, err };
}

test('plan lists the steps in order', async () => {
  const { code, out, err } = await run('plan', '--file', 'new.yaml');
  expect(code).toBe(0);
  expect(out.split('\n').slice(0, 3)).toEqual(['#    STEP', '1    send-started-notification', '2    check-health-before']);
  expect(out.trim().split('\n')).toHaveLength(15);
  expect(err).toBe('ARO to 4.14.12, from 2026-02-01T10:00:00Z on, not given up\n');
});

test('status says of each step how far it is', async () => {
  const { code, out, err } = await run('status', '--file', 'under-way.yaml');
  expect(code).toBe(0);
  expect(
    out
      .split('\n')
      .slice(1, 4)
      .map((row) => row.split(/ {3,}/).slice(1)),
  ).toEqual([
    ['send-started-notification', 'done', '2026-02-01T10:00:01Z'],
    ['check-health-before', 'failing', '2026-02-01T10:00:02Z', 'degraded operators: a'],
    ['check-dependencies', 'left'],
  ]);
  expect(err).toBe('Upgrading: from 4.14.9 to 4.14.12, from 2026-02-01T10:00:00Z on\n');
});

test('status as JSON', async () => {
  const { out } = await run('status', '--file', 'new.yaml', '--json');
  expect(JSON.parse(out)).toMatchObject({ phase: 'unseen', to: '4.14.12', steps: { length: 14 } });
});

test.each([
  {
    name: 'a file that is no UpgradeConfig, naming the field',
    args: ['status', '--file', 'wrong.yaml'],
    ends: 1,
    says: 'wrong.yaml: spec.type',
  },
  { name: 'a file that is no YAML, naming the file', args: ['plan', '--file', 'broken.yaml'], ends: 1, says: 'broken.yaml: ' },
  { name: 'neither cluster nor file', args: ['plan'], ends: 2, says: 'no kubeconfig: name one with --kubeconfig' },
  { name: 'an option that is not known', args: ['plan', '--flie', 'new.yaml'], ends: 2, says: "unknown option '--flie'" },
  { name: 'a command that is not known', args: ['stauts'], ends: 2, says: "unknown command 'stauts'" },
])('refuses $name', async ({ args, ends, says }) => {
  const { code, out, err } = await run(...args);
  expect({ code, out }).toEqual({ code: ends, out: '' });
  expect(err).toContain(says);
});
