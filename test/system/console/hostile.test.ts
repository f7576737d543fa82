/** Everything that a spoke may write, written to take over a page, a terminal or a spreadsheet; each view of it in a real browser. */
import { readFile } from 'node:fs/promises';
import { conditionTime, type KubeObject, type Resource } from '@flotilla/api';
import { Event, Lease } from '@flotilla/api/core';
import { AGENT_LEASE, CLUSTER_AVAILABLE, ManagedCluster, ManifestWork, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { registerSpokes } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { z } from 'zod';
import { hubCrds } from '../../fixtures/crds.ts';
import { testIn } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowser } from './browser.ts';
import { startConsole } from './console.ts';

/** Markup, a scheme, a template, a formula; escapes that colour, name the window and clear the screen; marks that are not seen. */
const HOSTILE =
  '=cmd()<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script><a href="javascript:document.title=1">x</a>{{x}}\u202eexe.\u001b[31m\u001b]0;taken\u0007\u001b[2J\u009b5A\u2028\u{e0041}';
/** As much of it as a field of 128 bytes takes. */
const SHORT = '=cmd()<img src=x onerror="document.title=1">taken{{x}}\u202e\u001b[31m\u001b]0;x\u0007\u009b5A\u2028';
/** As much of it as a field of 63 bytes takes. */
const TINY = '<img src=x onerror=a()>taken\u202e\u001b[31m\u0007\u009b5A';
const ESCAPED = String.raw`{{x}}\u202eexe.\u001b[31m\u001b]0;taken\u0007\u001b[2J\u009b5A\u2028`;

class HostileHub implements AsyncDisposable {
  readonly server: ApiServer;

  private constructor(server: ApiServer) {
    this.server = server;
  }

  static async start(): Promise<HostileHub> {
    const server = await startApiServer({ crds: hubCrds() });
    await furnish(await server.client());
    return new HostileHub(server);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.stop();
  }
}

const test = testIn(() => HostileHub.start());

const at = conditionTime(Date.now());
const condition = (type: string, status: string, reason = 'Any') => ({ type, status, reason, message: HOSTILE, lastTransitionTime: at });

async function furnish(client: Client): Promise<void> {
  const say = (kind: Resource<KubeObject>, name: { namespace?: string; name: string }, status: object) =>
    client.patch(kind, name, { status }, { type: 'merge', subresource: 'status' });
  await registerSpokes(client, ['site-1', 'site-2']);
  await say(
    ManagedCluster,
    { name: 'site-1' },
    {
      version: { kubernetes: SHORT },
      conditions: [condition(CLUSTER_AVAILABLE, 'True')],
      clusterClaims: [{ name: 'a', value: SHORT }],
    },
  );
  await client.patch(ManagedCluster, { name: 'site-2' }, { metadata: { annotations: { 'flotilla.io/hold': HOSTILE } } }, { type: 'merge' });
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  await client.create(Lease, {
    metadata: { namespace: 'site-1', name: AGENT_LEASE },
    spec: { holderIdentity: HOSTILE, leaseDurationSeconds: 60, renewTime },
  });
  for (const name of ['by-work', 'by-policy', 'ended']) {
    const metadata = { namespace: 'default', name };
    const by = name === 'by-policy' ? { managedPolicies: ['p'] } : { manifestWorkTemplates: ['t'] };
    const clusters = name === 'by-policy' ? ['site-2'] : ['site-1'];
    const spec = { clusters, ...by, enable: true, remediationStrategy: { maxConcurrency: 1, timeout: 240 } };
    await client.create(ClusterGroupUpgrade, { metadata, spec });
    await say(ClusterGroupUpgrade, metadata, statusOf(name, clusters));
  }
  await client.create(Policy, {
    metadata: { namespace: 'site-2', name: 'default.p' },
    spec: { remediationAction: 'enforce', disabled: false, 'policy-templates': [] },
  });
  const details = [{ compliant: 'NonCompliant', templateMeta: { name: 'x' }, history: [{ message: HOSTILE, lastTimestamp: at }] }];
  await say(Policy, { namespace: 'site-2', name: 'default.p' }, { compliant: 'NonCompliant', details });
  await furnishWork(client);
  await client.create(Event, {
    metadata: { namespace: 'default', name: 'an-event' },
    eventTime: renewTime,
    reportingController: 'flotilla.io/hub',
    reportingInstance: 'hub-1',
    action: 'Told',
    reason: 'Told',
    note: HOSTILE.slice(0, 1000),
    type: 'Warning',
    regarding: { apiVersion: ClusterGroupUpgrade.apiVersion, kind: ClusterGroupUpgrade.kind, namespace: 'default', name: 'by-work' },
  });
}

function statusOf(name: string, [cluster = '']: readonly string[]): object {
  const planned = { remediationPlan: [[cluster]], managedPoliciesForUpgrade: [{ name: 'p', namespace: 'default' }] };
  const manifest = { resourceMeta: { ordinal: 0, kind: HOSTILE, name: HOSTILE }, conditions: [condition('Applied', 'False')] };
  if (name === 'ended')
    return {
      ...planned,
      observedGeneration: 1,
      conditions: [condition('Progressing', 'False', 'TimedOut'), condition('Succeeded', 'False', 'TimedOut')],
      clusters: [{ name: cluster, state: 'timedout', currentManifestWork: { name: 't', status: { manifests: [manifest] } } }],
      status: { startedAt: at, completedAt: at },
    };
  return {
    ...planned,
    observedGeneration: 1,
    conditions: [condition('Progressing', 'True', 'InProgress')],
    precaching: { status: { [cluster]: 'UnrecoverableError' }, messages: { [cluster]: HOSTILE } },
    ...(name === 'by-work' && { messages: { [cluster]: HOSTILE } }),
    waits: [{ for: HOSTILE, clusters: 1, names: [cluster] }],
    status: {
      startedAt: at,
      currentBatch: 1,
      currentBatchStartedAt: at,
      currentBatchRemediationProgress: { [cluster]: { state: 'InProgress' } },
    },
  };
}

/** What an agent feeds back of a managed upgrade, and of an object that it could not apply. */
async function furnishWork(client: Client): Promise<void> {
  const ref = { namespace: 'site-1', name: 'w' };
  await client.create(ManifestWork, {
    metadata: ref,
    spec: { workload: { manifests: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } }] } },
  });
  const value = (name: string, fieldValue: object) => ({ name, fieldValue });
  const manifest = (ordinal: number, kind: string, values: readonly object[]) => ({
    resourceMeta: { ordinal, group: TINY, version: 'v1', kind, resource: TINY, name: SHORT, namespace: TINY },
    conditions: [condition('Applied', 'False'), condition('Available', 'False')],
    statusFeedback: { values },
  });
  const steps = [{ type: HOSTILE, status: 'False', message: HOSTILE, waitingFor: HOSTILE, lastTransitionTime: HOSTILE }];
  const manifests = [
    manifest(0, 'UpgradeConfig', [
      value('steps', { type: 'JsonRaw', jsonRaw: JSON.stringify(steps) }),
      value(TINY, { type: 'String', string: HOSTILE }),
    ]),
    manifest(1, 'ClusterVersion', [value('message', { type: 'String', string: HOSTILE })]),
    manifest(2, TINY, [value('raw', { type: 'JsonRaw', jsonRaw: JSON.stringify({ a: HOSTILE }) })]),
  ];
  const status = { conditions: [condition('Applied', 'False'), condition('Available', 'False')], resourceStatus: { manifests } };
  await client.patch(ManifestWork, ref, { status }, { type: 'merge', subresource: 'status' });
}

/** Everything that a browser or a screen reader gets of the page: texts, and values of attributes. */
const ALL = `[...document.querySelectorAll('*')].flatMap((element) => [...[...element.attributes].map(({ value }) => value), ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data)])`;
const Found = z.array(z.string());
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

async function expectHarmless(page: Page, path: string): Promise<void> {
  const texts = Found.parse(await page.evaluate(ALL));
  expect({ path, strays: texts.filter((text) => UNSEEN.test(text)) }).toEqual({ path, strays: [] });
  expect({ path, isThere: texts.some((text) => text.includes(ESCAPED)) }).toEqual({ path, isThere: true });
  const made = 'img, iframe, object, script:not([src]), [onerror], [onload], a[href^="javascript" i]';
  expect({ path, made: await page.locator(made).count(), title: await page.title() }).toEqual({
    path,
    made: 0,
    title: expect.stringMatching(/· Flotilla$/),
  });
}

test('is text in every view and its attributes, and in what is saved', async ({ world, skip }) => {
  const browser = await startBrowser();
  if (!browser) return skip(NO_BROWSER);
  await using _ended = { [Symbol.asyncDispose]: () => browser.close() };
  await using running = await startConsole(world.server.kubeconfig);
  await using seen = await look(browser, await running.address());
  const { page } = seen;
  await page.getByText('live', { exact: true }).waitFor();
  for (const path of [
    '/',
    '/?why=site-1',
    '/?why=site-2',
    '/upgrades/default/by-work',
    '/upgrades/default/by-work?why=site-1',
    '/upgrades/default/by-policy?why=site-2',
    '/upgrades/default/ended?why=site-1',
    '/spokes/site-1',
    '/spokes/site-2',
  ]) {
    await page.goto(await running.address(path));
    await page.getByText('taken').first().waitFor();
    if (path.includes('why=') || path.startsWith('/spokes')) await page.getByText(/Releases by itself|To release it|What to do/).waitFor();
    if (path === '/spokes/site-1') await page.getByText('UpgradeConfig').first().waitFor();
    if (path === '/upgrades/default/by-work') {
      await page.getByText('Events', { exact: true }).click();
      await page.getByText('Told').first().waitFor();
    }
    await expectHarmless(page, path);
  }
  await page.goto(await running.address('/'));
  await page.getByText('taken').first().waitFor();
  for (const kind of ['CSV', 'JSON']) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: `Save spokes as ${kind}` }).click(),
    ]);
    const saved = await readFile(await download.path(), 'utf8');
    expect(saved.replaceAll(/[\r\n]/g, '')).not.toMatch(UNSEEN);
    expect(saved).toContain(ESCAPED);
    if (kind === 'CSV') expect(saved).toContain(`"'=cmd()`);
  }
  expect(seen.complaints).toEqual([]);
});
