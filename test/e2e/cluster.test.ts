import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { currentRun, leftovers, type Run, sweepLeftovers } from '@flotilla/control-plane/processes';
import { type Cluster, clusterObstacle, startCluster } from '@flotilla/control-plane/servers';
import type { RuntimeName } from '@flotilla/control-plane/toolchain';
import { eventually, settled } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const obstacle = clusterObstacle();

const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'sleeper', namespace: 'default' },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'sleeper', image: 'local.test/pause:1', imagePullPolicy: 'Never' }],
      },
    },
  },
};

/** Serves `size` bytes at every path, at every address of this machine. */
async function startFileServer(size: number) {
  const server = createServer((_, response) => response.end(Buffer.alloc(size, 7)));
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { port: address.port, [Symbol.asyncDispose]: close };
}

/** Fetches a URL from inside the cluster's node: bytes and seconds, or undefined when it cannot be reached within the limit. */
async function fetchInside(cluster: Cluster, url: string, limitSeconds: number): Promise<{ bytes: number; seconds: number } | undefined> {
  const program = `const t=performance.now();const r=await fetch(process.argv[1],{signal:AbortSignal.timeout(${limitSeconds * 1000})});
    const b=(await r.arrayBuffer()).byteLength;console.log(JSON.stringify({bytes:b,seconds:(performance.now()-t)/1000}))`;
  const text = await cluster.run(process.execPath, ['--input-type=module', '-e', program, url]).catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as { bytes: number; seconds: number });
}

const RUNTIMES = ['containerd', 'crio'] as const satisfies readonly RuntimeName[];

/** When the container of a pod began, and how often it was started again. */
const containerState = (cluster: Cluster, selector: string): Promise<string> =>
  cluster.kubectl([
    'get',
    'pod',
    '-l',
    selector,
    '-o',
    'jsonpath={.items[*].status.containerStatuses[*].state.running.startedAt} {.items[*].status.containerStatuses[*].restartCount}',
  ]);

describe.skipIf(obstacle !== undefined).each(RUNTIMES)('a whole cluster with %s', (runtime) => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ name: 'node-one', runtime });
    console.log(`cluster with a Ready node in ${cluster.startedInMs} ms`);
  });
  afterAll(() => cluster?.stop());

  test('runs the pod of a Job, which reaches nothing but its sandbox image', async () => {
    const start = performance.now();
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(job) });
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod', '-l', 'job-name=sleeper', '--timeout=60s']);
    console.log(`pod of a Job ready in ${Math.round(performance.now() - start)} ms`);
    expect((await cluster.images()).map(({ name }) => name)).toContain('local.test/pause:1');
  });

  test('says what its runtime is, and lets pods go on while that restarts', async () => {
    expect(await cluster.kubectl(['get', 'nodes', '-o', 'jsonpath={.items[*].status.nodeInfo.containerRuntimeVersion}'])).toMatch(
      { containerd: /^containerd:/, crio: /^cri-o:/ }[runtime],
    );
    const before = await containerState(cluster, 'job-name=sleeper');
    const socket = await stat(cluster.runtimeSocket);
    await cluster.restartRuntime();
    // Another one: its inode's number may be the old one's, its times may not.
    expect((await stat(cluster.runtimeSocket)).ctimeMs).toBeGreaterThan(socket.ctimeMs);
    await cluster.kubectl(['run', 'another', '--image=local.test/pause:1', '--image-pull-policy=Never']);
    await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/another', '--timeout=60s']);
    expect(before).toMatch(/^\d{4}-.* 0$/);
    expect(await containerState(cluster, 'job-name=sleeper')).toBe(before);
  });

  test('shapes the wide area link to the rate and takes the limit off again', async () => {
    await using files = await startFileServer(4_000_000);
    const url = `http://${cluster.gatewayAddress}:${files.port}/`;
    await cluster.setRate('16mbit');
    const slow = await fetchInside(cluster, url, 30);
    await cluster.setRate(undefined);
    // 2 s by arithmetic, less the bucket's first burst; a busy machine adds to it.
    const leastSeconds = 1.8;
    expect(slow?.bytes).toBe(4_000_000);
    expect(slow?.seconds).toBeGreaterThan(leastSeconds);
    const fast = await eventually(async () => {
      const fetched = await fetchInside(cluster, url, 30);
      return fetched?.bytes === 4_000_000 && fetched.seconds < leastSeconds && fetched;
    }, 'a fetch that is faster than the limit lets any be');
    console.log(`4 MB at 16mbit in ${slow?.seconds.toFixed(2)} s, unlimited in ${fast.seconds.toFixed(2)} s`);
  });

  test('stays open to the administrator while the wide area link is cut, and comes back with it', async () => {
    await using files = await startFileServer(10);
    const url = `http://${cluster.gatewayAddress}:${files.port}/`;
    const adminSide = url.replace('//10.79.', '//10.80.');
    await cluster.cutLink();
    expect(await fetchInside(cluster, url, 1)).toBeUndefined();
    expect(await cluster.kubectl(['get', 'nodes'])).toContain('node-one');
    expect(await fetchInside(cluster, adminSide, 1)).toBeUndefined();
    await cluster.restoreLink();
    expect(await fetchInside(cluster, url, 5)).toMatchObject({ bytes: 10 });
    expect(await fetchInside(cluster, adminSide, 1)).toBeUndefined();
  });

  test('leaves nothing on the machine when it is stopped with a pod running', async () => {
    const run = await currentRun();
    const { cgroups, processes } = await leftovers(run);
    expect(cgroups).not.toEqual([]);
    expect(processes.filter((line) => / \/pause /.test(line)).length).toBeGreaterThanOrEqual(2);
    const start = performance.now();
    await cluster.stop();
    console.log(`stopped in ${Math.round(performance.now() - start)} ms`);
    expect(await leftovers(run)).toEqual({ processes: [], mounts: [], links: [], namespaces: [], cgroups: [], folders: [] });
  });
});

/** Whether a TCP connection comes about from inside a pod's network, within 2 s. */
async function canConnectFromPod(cluster: Cluster, host: string, port: number): Promise<boolean> {
  const tasks = await cluster.run('ctr', ['-n', 'k8s.io', 'tasks', 'ls']);
  const pid = /^\S+\s+(\d+)\s+RUNNING/m.exec(tasks)?.[1] ?? '';
  const program = `const s=require('net').connect(${port},'${host}',()=>process.exit(0));s.on('error',()=>process.exit(1));setTimeout(()=>process.exit(1),2000)`;
  return await cluster.run('nsenter', [`--net=/proc/${pid}/ns/net`, process.execPath, '-e', program]).then(
    () => true,
    () => false,
  );
}

describe.skipIf(obstacle !== undefined)('two clusters on one machine', () => {
  test('start side by side; pods reach their own API server, and the other one over the wide area link alone', async () => {
    const start = performance.now();
    const [hub, spoke] = await Promise.all([startCluster({ name: 'hub' }), startCluster({ name: 'spoke' })]);
    await using _hub = hub;
    await using _spoke = spoke;
    console.log(`two clusters side by side in ${Math.round(performance.now() - start)} ms`);
    await spoke.kubectl(['run', 'sleeper', '--image=local.test/pause:1', '--image-pull-policy=Never']);
    await spoke.kubectl(['wait', '--for=condition=Ready', 'pod/sleeper', '--timeout=60s']);
    // The address of the service `kubernetes` appears in the node's rules a moment after the pod, after several tries on a busy machine.
    await settled(async () => expect(await canConnectFromPod(spoke, '10.96.0.1', 443)).toBe(true), { timeout: 60_000, interval: 200 });
    expect(await canConnectFromPod(spoke, hub.address, 6443)).toBe(true);
    expect(await canConnectFromPod(spoke, hub.address.replace('10.79.', '10.80.'), 6443)).toBe(false);
    await spoke.cutLink();
    expect(await canConnectFromPod(spoke, hub.address, 6443)).toBe(false);
    expect(await canConnectFromPod(spoke, '10.96.0.1', 443)).toBe(true);
  });
});

describe.skipIf(obstacle !== undefined)('a cluster whose program dies', () => {
  test.each([
    ['containerd', 'SIGTERM'],
    ['containerd', 'SIGKILL'],
    ['crio', 'SIGTERM'],
    ['crio', 'SIGKILL'],
  ] as const)('with %s leaves nothing after %s', async (runtime, signal) => {
    const program = spawn(process.execPath, [fileURLToPath(new URL('../fixtures/cluster-holder.ts', import.meta.url)), runtime], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(program, 'exit');
    const [line] = (await once(createInterface({ input: program.stdout }), 'line')) as [string];
    const run = JSON.parse(line) as Run;
    expect((await leftovers(run)).processes.length).toBeGreaterThan(5);
    program.kill(signal);
    await exited;
    await settled(async () => expect((await leftovers(run)).processes).toEqual([]), { timeout: 20_000, interval: 100 });
    if (signal === 'SIGKILL') expect(await sweepLeftovers()).toContain(run.id);
    await settled(
      async () => expect(await leftovers(run)).toEqual({ processes: [], mounts: [], links: [], namespaces: [], cgroups: [], folders: [] }),
      {
        timeout: 20_000,
        interval: 100,
      },
    );
  });
});
