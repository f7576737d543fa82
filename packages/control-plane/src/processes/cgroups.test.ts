import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { clusterCgroup, findCgroups, hasCgroup, removeClusterCgroups, runCgroup } from './cgroups.ts';
import { identify } from './identity.ts';
import { leftovers } from './leftovers.ts';
import { currentRun, sweepLeftovers } from './run.ts';

/** A hierarchy in which cgroups can be made: one of v1, or the only one of v2. */
const hierarchy = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((root) => existsSync(join(root, 'cgroup.procs')) && isWritable(root));

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A process in a cgroup of a container. */
async function startContained(cgroup: string) {
  const folder = join(hierarchy ?? '', cgroup, 'container');
  await mkdir(folder, { recursive: true });
  const child = spawn('sleep', ['30']);
  await once(child, 'spawn');
  await writeFile(join(folder, 'cgroup.procs'), `${child.pid}`);
  return { pid: child.pid, folder, exited: once(child, 'exit') };
}

describe('the cgroups of a run', () => {
  beforeEach(({ skip }) => {
    if (!hierarchy) skip('no cgroup can be made: needs root on Linux');
  });

  test('are leftovers with the processes in them; those of a cluster go with its processes, the last take the run’s along', async () => {
    const run = await currentRun();
    const [one, two] = [join(run.dir, 'one-1'), join(run.dir, 'two-2')];
    const [inOne, inTwo] = [await startContained(clusterCgroup(one)), await startContained(clusterCgroup(two))];
    const left = await leftovers(run);
    expect(left.processes.toSorted()).toEqual([`${inOne.pid} sleep 30 `, `${inTwo.pid} sleep 30 `].toSorted());
    expect(left.cgroups).toEqual(expect.arrayContaining([inOne.folder, inTwo.folder, dirname(dirname(inOne.folder))]));

    await removeClusterCgroups(one);
    expect(await inOne.exited).toEqual([null, 'SIGKILL']);
    expect(await findCgroups(runCgroup(run.id))).toEqual([dirname(dirname(inTwo.folder)), dirname(inTwo.folder), inTwo.folder]);
    expect(hasCgroup(runCgroup(run.id))).toBe(true);

    await removeClusterCgroups(two);
    await inTwo.exited;
    expect(await leftovers(run)).toMatchObject({ processes: [], cgroups: [] });
    expect(hasCgroup(runCgroup(run.id))).toBe(false);
  });

  test('are swept when the run is dead', async () => {
    const run = await currentRun();
    const dead = join(dirname(run.dir), `dead-cgroups-${run.id}`);
    const owner = spawn('sleep', ['30']);
    await once(owner, 'spawn');
    await mkdir(dead);
    await writeFile(join(dead, 'owner.json'), JSON.stringify(await identify(owner.pid ?? 0)));
    const { folder, exited } = await startContained(clusterCgroup(join(dead, 'one-1')));
    await sweepLeftovers();
    expect(existsSync(folder)).toBe(true);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    await sweepLeftovers();
    await exited;
    expect(hasCgroup(runCgroup(`dead-cgroups-${run.id}`))).toBe(false);
  });
});
