import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INSPECT_NAMESPACE, SpokeName } from '@flotilla/api/ran';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { createRandom } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { inspectObjects, spokeNode } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CHARTS, NAMESPACE, SPOKE_IMAGES } from '../chart-hub.ts';
import { AGENT, type ChartServer, sets, startChartServer } from '../chart-server.ts';
import { readNodesTable, readTable, refusals } from './confined-job/admitted-job.ts';
import { CHANGES, editable, type Job, JobFields } from './confined-job/job-changes.ts';

const SEED = readEnvironment().confinementSeed;
const CHANGED_JOBS = 200;
const REPOSITORY = 'registry.example.com/flotilla/image-puller';
const ROOT = join(import.meta.dirname, '../../..');
const jobs = `/apis/batch/v1/namespaces/${SpokeName.namespace}/jobs`;

let world: ChartServer;
let agent: Client;

beforeAll(async () => {
  world = await startChartServer();
  await world.admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: SpokeName.namespace } } });
  await world.helm(
    'install',
    'agent',
    join(CHARTS, 'spoke'),
    '-n',
    NAMESPACE,
    ...sets(['clusterName=spoke-1', 'hub.kubeconfigSecret=hub', ...SPOKE_IMAGES]),
  );
  agent = await world.server.client(AGENT);
  // An API server learns of a policy a moment after it is stored.
  await eventually(async () => (await verdict({ ...(await hubJob('plain-kubernetes')), metadata: { name: 'x' } })).kind === 'refused');
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** The Job as the hub makes it, which its own tests hold this file to. */
async function hubJob(name: 'openshift' | 'plain-kubernetes' | 'several-nodes', kind: 'Job' | 'DaemonSet' = 'Job'): Promise<Job> {
  const file = join(ROOT, 'apps/hub/src/spokes/jobs/kinds/precache/recorded', `${name}.yaml`);
  const objects = parseAllDocuments(await readFile(file, 'utf8')).map((document): unknown => document.toJS());
  const found = z
    .array(z.looseObject({ kind: z.string() }))
    .parse(objects)
    .find((object) => object.kind === kind);
  const { job, container } = editable(found ?? expect.fail(`${file} has no Job`));
  container.image = `${REPOSITORY}:1`;
  return job;
}

/** What the API server says of a Job; nothing is stored. An invalid one never comes before the policy. */
async function verdict(job: Job): Promise<{ kind: 'admitted' | 'refused' | 'invalid'; message: string }> {
  try {
    await agent.request('POST', `${jobs}?dryRun=All`, { body: job });
    return { kind: 'admitted', message: '' };
  } catch (error) {
    const message = String(error);
    return { kind: message.includes('ValidatingAdmissionPolicy') ? 'refused' : 'invalid', message };
  }
}

async function installed() {
  const values: unknown = parse(await readFile(join(CHARTS, 'spoke/values.yaml'), 'utf8'));
  const { confinement } = z.object({ confinement: z.object({ hostPaths: z.array(z.string()) }) }).parse(values);
  return { repositories: [REPOSITORY], hostPaths: confinement.hostPaths };
}

test('the Job of an inspection is admitted in its namespace, and no other Job there', async () => {
  const place = { metadata: { name: INSPECT_NAMESPACE } };
  await world.admin.request('POST', '/api/v1/namespaces', { body: place });
  const openshift = { metadata: { name: 'spoke-1', labels: { vendor: 'OpenShift' } } };
  for (const cluster of [{ metadata: { name: 'spoke-1' } }, openshift]) {
    const inputs = { node: spokeNode(cluster), list: { layers: [], images: [] }, image: `${REPOSITORY}:1`, seconds: 60 };
    const made = inspectObjects(inputs).find(({ kind }) => kind === 'Job');
    const at = `/apis/batch/v1/namespaces/${INSPECT_NAMESPACE}/jobs?dryRun=All`;
    await agent.request('POST', at, { body: made });
    const { job, container } = editable(structuredClone(made) ?? expect.fail());
    expect(refusals(await table(), job)).toEqual([]);
    container.command = ['sh'];
    await expect(agent.request('POST', at, { body: job })).rejects.toThrow(/may not set containers\[0\]\.command/);
  }
});

const securityText = () => readFile(join(ROOT, 'SECURITY.md'), 'utf8');
const table = async () => readTable(await securityText(), await installed());

describe('the DaemonSet of several nodes', () => {
  const path = `/apis/apps/v1/namespaces/${SpokeName.namespace}/daemonsets?dryRun=All&fieldValidation=Strict`;
  const said = async (object: Job): Promise<string> =>
    agent.request('POST', path, { body: object }).then(
      () => '',
      (error: unknown) => String(error),
    );
  const tableOfNodes = async () => readNodesTable(await securityText(), await installed());

  test('is admitted as the hub makes it, by the table and by the API server, and the Job beside it', async () => {
    const nodes = await hubJob('several-nodes', 'DaemonSet');
    expect(refusals(await tableOfNodes(), nodes)).toEqual([]);
    expect(await said(nodes)).toBe('');
    const job = await hubJob('several-nodes');
    expect(refusals(await table(), job)).toEqual([]);
    expect(await verdict(job)).toEqual({ kind: 'admitted', message: '' });
  });

  const more: typeof CHANGES = {
    'the account of the Job': ({ pod }) => void Object.assign(pod, { serviceAccountName: 'pre-cache-agent' }),
    'the nodes of a lead': ({ variable }) => variable('NODES', '{}'),
    'no following': ({ variable }) => variable('FOLLOW', 'off'),
    'a token for the API server': ({ volume }) =>
      volume('pod-token', {
        projected: { defaultMode: 420, sources: [{ serviceAccountToken: { expirationSeconds: 3600, path: 'token' } }] },
      }),
    'a Secret beside the token': ({ volume }) =>
      volume('pod-token', { projected: { defaultMode: 420, sources: [{ secret: { name: 'hub-kubeconfig' } }] } }),
    'a token elsewhere': ({ mount }) => mount('pod-token', { mountPath: '/app' }),
  };
  test.each(Object.keys({ ...CHANGES, ...more }))('changed by %s is judged as the table says', async (change) => {
    const parts = editable(await hubJob('several-nodes', 'DaemonSet'));
    ({ ...CHANGES, ...more })[change]?.(parts, createRandom(SEED, change));
    const reasons = refusals(await tableOfNodes(), parts.job);
    const message = await said(parts.job);
    expect({ isAdmitted: message === '', reasons, message }).toMatchObject({ isAdmitted: reasons.length === 0 });
  });
});

describe.each(['plain-kubernetes', 'openshift'] as const)('the Job for %s', (name) => {
  test('is admitted as the hub makes it, by the table and by the API server', async () => {
    const job = await hubJob(name);
    expect(refusals(await table(), job)).toEqual([]);
    expect(await verdict(job)).toEqual({ kind: 'admitted', message: '' });
  });

  test.each(Object.keys(CHANGES))('changed by %s is judged as the table says', async (change) => {
    const parts = editable(await hubJob(name));
    CHANGES[change]?.(parts, createRandom(SEED, change));
    const reasons = refusals(await table(), parts.job);
    const { kind, message } = await verdict(parts.job);
    expect({ kind, reasons, message }).toMatchObject({ kind: reasons.length === 0 ? 'admitted' : 'refused' });
  });
});

test(`${CHANGED_JOBS} Jobs changed in any field the API server knows are judged as the table says`, async () => {
  const random = createRandom(SEED, 'fields');
  const rows = await table();
  const fields = new JobFields(await world.admin.request('GET', '/openapi/v3/apis/batch/v1'));
  const originals = [await hubJob('plain-kubernetes'), await hubJob('openshift')];
  const names = Object.keys(CHANGES);
  const counts = { admitted: 0, refused: 0, invalid: 0 };
  const differences: string[] = [];
  for (let made = 0; counts.admitted + counts.refused < CHANGED_JOBS; made += 1) {
    if (made > CHANGED_JOBS * 20) expect.fail(`of ${made} changed Jobs only ${JSON.stringify(counts)} could be judged`);
    const parts = editable(originals[made % 2] ?? expect.fail());
    const said: string[] = [];
    for (let change = 0; change <= Math.floor(random() * 2); change += 1) {
      if (random() < 0.6) said.push(fields.setOne(parts.job, random));
      else {
        const name = names[Math.floor(random() * names.length)] ?? '';
        CHANGES[name]?.(parts, random);
        said.push(name);
      }
    }
    const { kind, message } = await verdict(parts.job);
    counts[kind] += 1;
    const reasons = refusals(rows, parts.job);
    if (kind !== 'invalid' && (kind === 'admitted') !== (reasons.length === 0))
      differences.push(
        `seed ${SEED}, ${made}: ${said.join('; ')}: ${kind} (${message.slice(0, 300)}), the table: ${reasons.join('; ') || 'admitted'}`,
      );
  }
  console.log(`confinement, seed ${SEED}: ${JSON.stringify(counts)}, as the table says but for ${differences.length}`);
  expect(differences).toEqual([]);
  expect(counts.admitted).toBeGreaterThan(CHANGED_JOBS / 10);
});
