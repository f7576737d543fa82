/** One managed upgrade: how long it takes beyond what the cluster needs, how many requests, how much memory. See `--help`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { configCrds } from '@flotilla/api/config';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import { managedCrds, OPERATOR_CONFIG_MAP, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { machineCrds } from '@flotilla/api/testing';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { startAlertmanager, startApiServer, startPrometheus } from '@flotilla/control-plane/servers';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { z } from 'zod';
import { applyCrds } from '../fixtures/crds.ts';
import { bundleUpgradeOperator, startUpgradeOperator } from '../support/programs.ts';
import { countRequests, recordRequestsOf, totalOf } from './hub-requests.ts';
import { readProcess, round } from './statistics.ts';

const USAGE = `bench:upgrade -- [--type OSD|ARO] [--runs 1] [--json FILE]
A cluster of four nodes and one MachineSet, capacity reserved, from the UpgradeConfig's creation to Upgraded.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, real Prometheus and Alertmanager of the distribution, the operator bundled as in an image, a process
of its own; the version operator, the machine config operator, MachineSets and Machines are played by this process and answer within a second. Requests
are those of the operator's own user in the API server's audit log, from its start to the end of the upgrade; watches and leases are left out. A status
write without news is one after which the status is what it was before. Memory by /proc.`;
const OPERATOR = 'upgrade-operator';
const TARGET = '4.14.12';

/** What the reference needs: 243 s, about 340 requests, 62 MiB (spec/muo 13). */
const MOST = { seconds: 20, requests: 100, mebibytes: 120 };

const Arguments = z.object({
  type: z.enum(['OSD', 'ARO']).default('OSD'),
  runs: z.coerce.number().int().positive().default(1),
  json: z.string().optional(),
});
const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { type: text, runs: text, json: text, help: { type: 'boolean' } } });

interface Figures {
  readonly seconds: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly total: number;
  readonly peakMiB: number;
  readonly cpuSeconds: number;
  readonly statusWrites: number;
  readonly emptyStatusWrites: number;
  /** Seconds from the creation to each step's end. */
  readonly steps: Readonly<Record<string, number>>;
}

const CONFIGURATION = `maintenance: {controlPlaneTime: 90}
scale: {timeOut: 30}
nodeDrain: {timeOut: 45, expectedNodeDrainTime: 8}
`;

async function measure(type: 'OSD' | 'ARO'): Promise<Figures> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-bench-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const auditLog = join(dir, 'audit.log');
  const server = stack.use(await startApiServer(recordRequestsOf(OPERATOR, auditLog)));
  const client = await server.client();
  await applyCrds(client, [...managedCrds(), ...configCrds(), ...machineCrds()]);
  await client.create(Namespace, { metadata: { name: OPERATOR_NAMESPACE } });
  const { name, key } = OPERATOR_CONFIG_MAP;
  await client.create(ConfigMap, { metadata: { name, namespace: OPERATOR_NAMESPACE }, data: { [key]: CONFIGURATION } });
  await createSmallCluster(client);
  stack.use(await startClusterActors({ client, offers: { 'stable-4.14': [TARGET] } }));
  const prometheus = stack.use(await startPrometheus());
  const alertmanager = stack.use(await startAlertmanager());
  const urls = ['--prometheus-url', prometheus.url, '--alertmanager-url', alertmanager.url];
  const operator = await startUpgradeOperator(await server.kubeconfigFor(OPERATOR), dir, urls, await bundleUpgradeOperator(dir));
  stack.defer(async () => operator.stop());

  const statuses: string[] = [];
  const stopping = new AbortController();
  const upgrades = new WatchCache(client, UpgradeConfig);
  upgrades.subscribe(({ object }) => void statuses.push(JSON.stringify(object.status)));
  upgrades.start(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await upgrades.stopped();
  });
  await upgrades.synced();
  const seconds = await upgrade(client, type);
  const { peakMiB, cpuSeconds } = readProcess(operator.pid);
  const done = await client.get(UpgradeConfig, { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME });
  const created = Date.parse(done?.metadata.creationTimestamp ?? '');
  const { counts } = await countRequests(auditLog, OPERATOR, 0);
  return {
    seconds,
    requests: Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a)),
    total: totalOf(counts),
    peakMiB,
    cpuSeconds,
    statusWrites: counts.get('patch upgradeconfigs/status') ?? 0,
    emptyStatusWrites: statuses.filter((status, index) => index > 0 && status === statuses[index - 1]).length,
    steps: Object.fromEntries(
      (done?.status?.history?.[0]?.conditions ?? [])
        .toReversed()
        .map((condition): [string, number] => [condition.type, (Date.parse(condition.completeTime ?? '') - created) / 1000]),
    ),
  };
}

/** Seconds from the UpgradeConfig's creation to Upgraded. */
async function upgrade(client: Client, type: 'OSD' | 'ARO'): Promise<number> {
  const ref = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };
  const begun = performance.now();
  await client.create(UpgradeConfig, {
    metadata: ref,
    spec: {
      type,
      upgradeAt: new Date(Date.now() - 1000).toISOString(),
      PDBForceDrainTimeout: 60,
      desired: { version: TARGET, channel: 'stable-4.14' },
      capacityReservation: true,
    },
  });
  const phase = async () => (await client.get(UpgradeConfig, ref))?.status?.history?.[0]?.phase;
  await eventually(async () => (await phase()) === 'Upgraded', 'the upgrade', 120_000);
  return round((performance.now() - begun) / 1000, 2);
}

const print = (line: string) => process.stdout.write(`${line}\n`);

function report(figures: Figures): boolean {
  print(`  creation to Upgraded   ${figures.seconds} s`);
  print(`  API requests           ${figures.total}`);
  for (const [what, count] of Object.entries(figures.requests)) print(`    ${what.padEnd(40)} ${count}`);
  print(`  status writes          ${figures.statusWrites}, without news ${figures.emptyStatusWrites}`);
  print(`  memory at its highest  ${figures.peakMiB} MiB, CPU ${figures.cpuSeconds} s`);
  for (const [step, at] of Object.entries(figures.steps)) print(`    ${step.padEnd(40)} ${at} s`);
  const verdicts: [boolean, string][] = [
    [figures.seconds <= MOST.seconds, `at most ${MOST.seconds} s`],
    [figures.total <= MOST.requests, `at most ${MOST.requests} requests`],
    [figures.peakMiB <= MOST.mebibytes, `at most ${MOST.mebibytes} MiB`],
    [figures.emptyStatusWrites === 0, 'no status write without news'],
  ];
  for (const [isMet, what] of verdicts) print(`  ${isMet ? 'met   ' : 'MISSED'} ${what}`);
  return verdicts.every(([isMet]) => isMet);
}

if (values.help) print(`${USAGE}\n\n${HOW}`);
else {
  cleanupOnExit();
  const { type, runs, json } = Arguments.parse(values);
  const all: Figures[] = [];
  for (let run = 1; run <= runs; run += 1) {
    print(`${type}, run ${run} of ${runs}`);
    all.push(await measure(type));
  }
  const met = all.map(report);
  if (json !== undefined) await writeFile(json, JSON.stringify(all, undefined, 2));
  process.exitCode = met.every(Boolean) ? 0 : 1;
}
