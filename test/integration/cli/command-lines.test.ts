/** Command lines of tired operators on a real API server without a hub: each ends as kubectl's would, or says the next step. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Namespace } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type ApiServer, startApiServer } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { hubCrds } from '../../fixtures/crds.ts';
import { eachAttempt } from '../world.ts';
import { flotilla, flotillaWith } from './flotilla.ts';

let server: ApiServer;
let folder: string;
eachAttempt(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'flotilla-command-lines-'));
    server = await startApiServer({ crds: hubCrds() });
    const client = await server.client();
    await client.create(Namespace, { metadata: { name: 'empty' } });
    for (const name of ['member', 'stranger'])
      await client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true } });
    await client.create(ClusterGroupUpgrade, {
      metadata: { namespace: 'default', name: 'rolling' },
      spec: { clusters: ['member'], remediationStrategy: { maxConcurrency: 1 } },
    });
  },
  async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  },
);

const run = (...args: string[]) => flotilla(server.kubeconfig, ...args);
const upgrade = (name: string) => `apiVersion: ran.openshift.io/v1alpha1
kind: ClusterGroupUpgrade
metadata: {name: ${name}}
spec: {clusters: [member], remediationStrategy: {maxConcurrency: 1}}
`;

test('a namespace that is not there is no empty one', async () => {
  const said = 'flotilla: there is no namespace nothere: name another with -n, or add -A for all\n';
  expect(await run('status', '-n', 'nothere')).toEqual({ code: 1, out: '', err: said });
  expect(await run('status', '-n', 'empty')).toMatchObject({
    code: 0,
    err: expect.stringContaining('no ClusterGroupUpgrade in namespace'),
  });
});

test('a selector that cannot be read is named, with the server’s reason', async () => {
  expect(await run('status', '-l', 'a==b=c')).toEqual({
    code: 2,
    out: '',
    err: expect.stringMatching(/^flotilla: --selector "a==b=c" cannot be read: .*found '='.*: give labels such as site=north\n$/),
  });
});

test('as somebody else, whose rights then count', async () => {
  expect(await run('status', '--as', 'nobody')).toMatchObject({
    code: 1,
    err: expect.stringContaining('you may not list clustergroupupgrades'),
  });
  expect(await run('status', '--as', 'nobody', '--as-group', 'system:masters')).toMatchObject({ code: 0 });
});

test('a cluster in place of an upgrade is answered with the command that was meant', async () => {
  expect(await run('why', 'member')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/member is a ManagedCluster; ask about it in an upgrade: flotilla why default\/rolling member\n$/),
  });
  expect((await run('why', 'stranger')).err).toMatch(/stranger is a ManagedCluster, and in no upgrade\n$/);
  expect((await run('why', 'nothing')).err).toMatch(/there is no ClusterGroupUpgrade nothing .*the namespace has rolling\n$/);
});

test('a plan of standard input, and of the files of a folder', async () => {
  const files = join(folder, 'files');
  await mkdir(files);
  await writeFile(join(files, 'upgrade.yaml'), upgrade('filed'));
  await writeFile(join(files, 'notes.txt'), 'kind: [');
  expect(await run('plan', '-f', files, '--no-images')).toMatchObject({ err: '', out: expect.stringContaining('default/filed: ') });
  const typed = await flotillaWith(server.kubeconfig, { input: upgrade('typed') }, 'plan', '-f', '-', '--no-images');
  expect(typed).toMatchObject({ err: '', out: expect.stringContaining('default/typed: ') });
  await mkdir(join(folder, 'none'));
  expect(await run('plan', '-f', join(folder, 'none'))).toMatchObject({
    code: 2,
    err: expect.stringContaining('it has no file *.yaml, *.yml or *.json'),
  });
});

test('what is so already says what it is', async () => {
  expect((await run('resume', 'rolling', '--yes')).out).toBe(
    'ClusterGroupUpgrade default/rolling is so already; nothing was changed\n  it is not paused: flotilla why rolling -n default says what it waits for\n',
  );
  expect((await run('unhold', 'member', '--yes')).out).toMatch(/\n {2}it is not held\n$/);
});

test('a hold of a cluster in no upgrade says so', async () => {
  expect((await run('hold', 'stranger', '--dry-run')).out).toContain('it is in no upgrade now: those that come begin nothing on it');
  expect((await run('hold', 'member', '--dry-run')).out).toContain('others of its batch go on');
});
