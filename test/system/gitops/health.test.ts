import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findCondition } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { managedCrds } from '@flotilla/api/managed';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { kstatus } from '@flotilla/api/testing';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { expect } from 'vitest';
import { LuaFactory } from 'wasmoon';
import { parse } from 'yaml';
import { z } from 'zod';
import { applyCrds } from '../../fixtures/crds.ts';
import { clusterVersionStates, upgradeConfigStates } from '../../fixtures/gitops-states.ts';
import { RolloutWorld, spokeNames } from '../../integration/rollout/world.ts';
import { testIn } from '../../integration/world.ts';
import { fluxHealth, HealthCheck, serveHealthCheck } from './flux-health.ts';

const Health = z.object({ status: z.enum(['Healthy', 'Progressing', 'Degraded', 'Suspended']), message: z.string().optional() });

/** The verdict of Argo CD's script on an object, which it sees as the global `obj`. */
async function luaHealth(script: string, object: object): Promise<string> {
  const lua = await new LuaFactory().createEngine({ injectObjects: true });
  try {
    // As a table of Lua, not as an object of JavaScript, whose lists would begin at 0.
    await lua.doString(`obj = ${luaTable(object)}`);
    return Health.parse(await lua.doString(script)).status;
  } finally {
    lua.global.close();
  }
}

/** A value as Lua source; what is null in JSON is absent in Lua. */
function luaTable(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return `{${value.map(luaTable).join(',')}}`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `[${JSON.stringify(key)}]=${luaTable(each)}`)
      .join(',')}}`;
  return JSON.stringify(value);
}

const examples = join(import.meta.dirname, '../../../examples');
const readYaml = async (file: string): Promise<unknown> => parse(await readFile(join(examples, file), 'utf8'));
const { data: scripts } = z.looseObject({ data: z.record(z.string(), z.string()) }).parse(await readYaml('gitops/argocd-cm.yaml'));
const Kustomization = z.looseObject({ spec: z.looseObject({ healthCheckExprs: z.array(HealthCheck) }) });
const checks = Kustomization.parse(await readYaml('gitops/flux-kustomization.yaml')).spec.healthCheckExprs;
const PLURALS: Readonly<Record<string, string>> = {
  ClusterGroupUpgrade: 'clustergroupupgrades',
  UpgradeConfig: 'upgradeconfigs',
  ClusterVersion: 'clusterversions',
};

const UPGRADES = '/apis/ran.openshift.io/v1alpha1/namespaces/default/clustergroupupgrades';
const CONFIGS = '/apis/upgrade.managed.openshift.io/v1alpha1/namespaces/openshift-managed-upgrade-operator/upgradeconfigs';
const VERSIONS = '/apis/config.openshift.io/v1/clusterversions';

const test = testIn(async () => {
  const world = await RolloutWorld.start({ spokes: spokeNames(6, 'git') });
  await applyCrds(world.client, [...managedCrds(), ...configCrds()]);
  for (const check of checks) await serveHealthCheck(world.client, check, PLURALS[check.kind] ?? '');
  return world;
});

/** What the three tools say. */
interface Verdicts {
  readonly argo: string;
  readonly flux: string;
  readonly kstatus: string;
}

async function verdictsOf(
  client: Client,
  kind: string,
  { path, object }: { readonly path: string; readonly object: object },
): Promise<Verdicts> {
  const [script = ''] = Object.entries(scripts).flatMap(([key, text]) => (key.endsWith(`_${kind}`) ? [text] : []));
  return { argo: await luaHealth(script, object), flux: await fluxHealth(client, path, object), kstatus: kstatus(object) };
}
const says = (argo: string, flux: string, generic: string): Verdicts => ({ argo, flux, kstatus: generic });

test('ClusterGroupUpgrades of a running hub: state and tool, as docs/gitops.md has it', async ({ world }) => {
  const clusters = spokeNames(6, 'git');
  const written = recordUpgrades(world.client);
  await world.policies(clusters, { 'git-p': {}, 'git-slow': {} });
  for (const cluster of clusters) world.propagator.script('policies/git-slow', cluster, { never: true });
  const far = { 'flotilla.io/window-start': '2099-01-01T00:00:00Z' };
  await world.upgrade('git-waiting', ['git-1'], ['git-p'], {}, far);
  await world.upgrade('git-off', ['git-1'], ['git-p'], { enable: false });
  await world.upgrade('git-running', ['git-2'], ['git-slow']);
  await world.upgrade('git-paused', ['git-3'], ['git-p'], {}, { 'flotilla.io/paused': 'drain' });
  await world.upgrade('git-held', ['nobody'], ['git-p']);
  await world.upgrade('git-failed', ['git-4'], ['git-slow'], { remediationStrategy: { maxConcurrency: 1, timeout: 0 } });
  await world.upgrade('git-done', ['git-5'], ['git-p']);
  await world.upgrade('git-edited', ['git-5'], ['git-p']);
  await world.upgrade('git-late', ['git-1'], ['git-p'], {}, { 'flotilla.io/window-end': '2020-01-01T00:00:00Z' });
  await world.upgrade('git-behind', ['git-1'], ['git-p'], { blockingCRs: [{ name: 'git-failed' }] });
  await world.upgrade('git-unbacked', ['git-1'], ['git-p'], { backup: true });
  await world.untilCompleted('git-done');
  await world.untilCompleted('git-edited');
  // It does not count any more, and is no success.
  await world.edit('git-edited', { clusters: ['git-5', 'git-6'] });
  await world.untilInProgress('git-running', 'git-2');
  const want: Readonly<Record<string, Verdicts>> = {
    'git-waiting': says('Progressing', 'InProgress', 'InProgress'),
    'git-off': says('Suspended', 'InProgress', 'InProgress'),
    'git-running': says('Progressing', 'InProgress', 'InProgress'),
    'git-paused': says('Suspended', 'InProgress', 'InProgress'),
    'git-held': says('Degraded', 'Failed', 'Failed'),
    'git-failed': says('Degraded', 'Failed', 'Failed'),
    'git-done': says('Healthy', 'Current', 'Current'),
    'git-edited': says('Degraded', 'Failed', 'Failed'),
    'git-late': says('Degraded', 'Failed', 'Failed'),
    'git-behind': says('Degraded', 'Failed', 'Failed'),
    'git-unbacked': says('Degraded', 'Failed', 'Failed'),
  };
  await eventually(
    async () => {
      for (const [name, verdicts] of Object.entries(want)) {
        const path = `${UPGRADES}/${name}`;
        const object = z.looseObject({}).parse(await world.client.request('GET', path));
        expect(await verdictsOf(world.client, 'ClusterGroupUpgrade', { path, object }), name).toEqual(verdicts);
      }
      return true;
    },
    'every tool to see every state as it is',
    60_000,
  );
  // Each condition is about the edit too, or a tool that waits for one would wait for ever.
  const { metadata, status } = (await world.get('git-edited')) ?? {};
  expect(metadata?.generation).toBe(2);
  expect(new Set([status?.observedGeneration, ...(status?.conditions ?? []).map((each) => each.observedGeneration)])).toEqual(new Set([2]));
  expect(findCondition(status?.conditions, 'EditsIgnored')?.message).toContain('spec.clusters');
  await judgeWrites(written());
});

/** Remembers each version of each upgrade, until it is called. */
function recordUpgrades(client: Client): () => readonly ClusterGroupUpgrade[] {
  const versions: ClusterGroupUpgrade[] = [];
  const stop = new AbortController();
  const cache = new WatchCache(client, ClusterGroupUpgrade, {});
  cache.subscribe(({ object }) => void versions.push(object));
  cache.start(stop.signal);
  return () => {
    stop.abort();
    return versions;
  };
}

/** At no write is an upgrade done before its end, or in progress after it, by kstatus itself; our own copy of its rules agrees. */
async function judgeWrites(versions: readonly ClusterGroupUpgrade[]): Promise<void> {
  const tools = await ensureTools(['kstatus']);
  const input = versions.map((object) => JSON.stringify(object)).join('\n');
  const said = (await runCommand(tools.path('kstatus'), [], { input })).trim().split('\n');
  expect(said).toEqual(versions.map((object) => kstatus(object)));
  const wrong = versions.flatMap((object, at) => {
    const { metadata, status } = object;
    const verdict = findCondition(status?.conditions, 'Succeeded')?.status;
    const isSeen = status?.observedGeneration === metadata.generation;
    const isEdited = findCondition(status?.conditions, 'EditsIgnored') !== undefined;
    const allowed = !isSeen
      ? ['InProgress']
      : verdict === undefined
        ? ['InProgress', 'Failed']
        : verdict === 'False' || isEdited
          ? ['Failed']
          : ['Current'];
    return allowed.includes(said[at] ?? '') ? [] : [`${metadata.name} ${metadata.generation}: ${said[at]} of ${JSON.stringify(status)}`];
  });
  expect(wrong).toEqual([]);
  expect(new Set(said)).toEqual(new Set(['InProgress', 'Failed', 'Current']));
}

test('UpgradeConfigs: state and tool', async ({ world: { client } }) => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'openshift-managed-upgrade-operator' } };
  await client.request('POST', '/api/v1/namespaces', { body: namespace });
  const created = z.looseObject({}).parse(await client.request('POST', CONFIGS, { body: await readYaml('kinds/upgradeconfig.yaml') }));
  const path = `${CONFIGS}/managed-upgrade-config`;
  const want: Readonly<Record<keyof typeof upgradeConfigStates, readonly [argo: string, flux: string]>> = {
    edited: ['Progressing', 'InProgress'],
    begun: ['Progressing', 'InProgress'],
    stalled: ['Degraded', 'Failed'],
    doneAfterAnother: ['Healthy', 'Current'],
    waiting: ['Progressing', 'InProgress'],
    running: ['Progressing', 'InProgress'],
    held: ['Degraded', 'Failed'],
    failed: ['Degraded', 'Failed'],
    done: ['Healthy', 'Current'],
  };
  await untilServed(() => fluxHealth(client, path, { ...created, status: upgradeConfigStates.done }));
  for (const [state, status] of Object.entries(upgradeConfigStates)) {
    const { argo, flux } = await verdictsOf(client, 'UpgradeConfig', { path, object: { ...created, status } });
    expect([argo, flux], state).toEqual(Object.entries(want).find(([each]) => each === state)?.[1]);
    // A definition of others keeps a history alone, which kstatus does not read.
    const generic = 'conditions' in status ? flux : 'Current';
    expect(await genericVerdict({ ...created, status }), state).toBe(generic);
  }
});

test('ClusterVersions: state and tool', async ({ world: { client } }) => {
  const created = z.looseObject({}).parse(await client.request('POST', VERSIONS, { body: await readYaml('kinds/clusterversion.yaml') }));
  const path = `${VERSIONS}/version`;
  const want: Readonly<Record<keyof typeof clusterVersionStates, readonly [argo: string, flux: string]>> = {
    waiting: ['Progressing', 'InProgress'],
    running: ['Progressing', 'InProgress'],
    held: ['Degraded', 'Failed'],
    failed: ['Degraded', 'Failed'],
    done: ['Healthy', 'Current'],
  };
  await untilServed(() => fluxHealth(client, path, { ...created, status: clusterVersionStates.done }));
  for (const [state, status] of Object.entries(clusterVersionStates)) {
    const { argo, flux } = await verdictsOf(client, 'ClusterVersion', { path, object: { ...created, status } });
    expect([argo, flux], state).toEqual(Object.entries(want).find(([each]) => each === state)?.[1]);
  }
});

/** The word of kstatus itself on an object. */
async function genericVerdict(object: object): Promise<string> {
  const tools = await ensureTools(['kstatus']);
  return (await runCommand(tools.path('kstatus'), [], { input: JSON.stringify(object) })).trim();
}

/** A new policy counts some moments after it was created. */
const untilServed = (ask: () => Promise<string>): Promise<unknown> =>
  eventually(async () => (await ask()) === 'Current', 'the expressions to be served', 60_000);
