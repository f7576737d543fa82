import { readFile } from 'node:fs/promises';
import { KubeObject, Label } from '@flotilla/api';
import { ManagedClusterView, VIEW_PROCESSING, ViewReason } from '@flotilla/api/ocm';
import { type PrecacheState, SpokeName } from '@flotilla/api/ran';
import { type ApiServer, type ControllerManager, startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { saidOf } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { buildPrecacheSettings, clusterObject, UPGRADE } from '../../../testing/observation-builders.ts';
import { trimView } from '../../trims.ts';
import { observeActions, toObservation } from '../transports/actions/observe.ts';
import type { StepContext } from './kind.ts';
import { createPrecacheJob, precacheNames } from './kinds/precache/job.ts';
import { decide } from './plan.ts';

const { namespace, job } = SpokeName;
const JOB = `/apis/batch/v1/namespaces/${namespace}/jobs/${job}`;
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const CREATED = '2026-01-01T00:00:00Z';

let spoke: ApiServer;
let controllers: ControllerManager;
let admin: Client;

beforeAll(async () => {
  spoke = await startApiServer();
  admin = await spoke.client();
  controllers = await startControllerManager(spoke, { controllers: ['job-controller'] });
  await refusePods();
});
afterAll(async () => {
  await controllers?.stop();
  await spoke?.stop();
});

/** Refuses pods as a cluster does whose constraints admit no pod of the job. */
async function refusePods(): Promise<void> {
  const metadata = { name: 'no-pods' };
  const refusal = { expression: 'false', message: 'unable to validate against any security context constraint' };
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }];
  await admin.request('POST', POLICIES, { body: { metadata, spec: { matchConstraints: { resourceRules }, validations: [refusal] } } });
  const binding = { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } };
  await admin.request('POST', `${POLICIES.replace('policies', 'policybindings')}`, { body: binding });
  const pod = { metadata: { name: 'probe' }, spec: { containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false } };
  const ask = () => admin.request('POST', '/api/v1/namespaces/default/pods?dryRun=All', { body: pod }).then(String, String);
  // The policy takes effect a moment after its creation.
  await vi.waitUntil(async () => (await ask()).includes('security context constraint'), { timeout: 30_000 });
}

/** Interprets the Job on the spoke, `afterMs` after the start of the hub's watch. */
async function interpretAfter(state: PrecacheState, afterMs: number) {
  const view = ManagedClusterView.schema.parse({
    metadata: {
      name: precacheNames.views.job.name,
      namespace: 'spoke',
      labels: { [Label.upgradeUid]: UPGRADE.uid },
      creationTimestamp: CREATED,
    },
    status: {
      conditions: [{ type: VIEW_PROCESSING, status: 'True', reason: ViewReason.getting, message: '', lastTransitionTime: CREATED }],
      result: await admin.request('GET', JOB),
    },
  });
  const views = [trimView(view)];
  const observed = toObservation(
    precacheNames,
    observeActions(precacheNames, UPGRADE.uid, { cluster: clusterObject(true), views, actions: [] }),
  );
  const now = Date.parse(CREATED) + afterMs;
  const definition = createPrecacheJob(buildPrecacheSettings());
  const context: StepContext<PrecacheState> = {
    job: definition,
    upgradeUid: UPGRADE.uid,
    cluster: 'spoke',
    now,
    deadlineAt: now + 1,
    claimedBy: undefined,
    claimantEnded: false,
    trouble: undefined,
    digest: undefined,
  };
  const { state: next, message, at } = decide(state, observed, context);
  return {
    state: next,
    message: message && saidOf(message),
    at: at === undefined ? undefined : at - Date.parse(CREATED),
  };
}

const Events = z.object({ items: z.array(z.looseObject({ reason: z.string(), message: z.string() })) });
const Status = z.object({ status: z.looseObject({ active: z.number().optional(), ready: z.number().optional() }) });

test('a job whose pods are refused says so after 30 s, one whose pod does not run after 2 min', async () => {
  const text = await readFile(new URL('./kinds/precache/recorded/plain-kubernetes.yaml', import.meta.url), 'utf8');
  const paths: Record<string, string> = {
    Namespace: '/api/v1/namespaces',
    ServiceAccount: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    ConfigMap: `/api/v1/namespaces/${namespace}/configmaps`,
    Role: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
    RoleBinding: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
    Job: `/apis/batch/v1/namespaces/${namespace}/jobs`,
  };
  for (const document of parseAllDocuments(text)) {
    const object = KubeObject.parse(document.toJS());
    await admin.request('POST', paths[object.kind ?? ''] ?? expect.fail(`no path for ${object.kind}`), { body: object });
  }
  const refused = async () => {
    const { items } = Events.parse(await admin.request('GET', `/api/v1/namespaces/${namespace}/events`));
    return items.find(({ reason }) => reason === 'FailedCreate')?.message;
  };
  expect(await vi.waitUntil(refused, { timeout: 60_000 })).toContain('unable to validate against any security context constraint');

  expect(await interpretAfter('Starting', 29_000)).toMatchObject({ state: 'Starting', at: 30_000 });
  expect((await interpretAfter('Starting', 30_000)).message).toMatch(
    /^job pre-cache has had no pod for 30 s: the cluster refuses to create it \(FailedCreate\)/,
  );

  await admin.request('DELETE', `${POLICIES}/no-pods`);
  const pending = async () => {
    const { active, ready } = Status.parse(await admin.request('GET', JOB)).status;
    return active === 1 && ready === 0;
  };
  // The controller tries again after 10, 20, 40 s.
  await vi.waitUntil(pending, { timeout: 120_000 });
  expect(await interpretAfter('Starting', 60_000)).toEqual({ state: 'Active', message: undefined, at: 120_000 });
  expect((await interpretAfter('Active', 120_000)).message).toMatch(/^the pod of job pre-cache has not been running for 2 min/);
});
