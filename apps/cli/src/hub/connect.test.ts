import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOptions, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from './connect.ts';
import { AccessOptions } from './options.ts';

/** A server that answers with nothing, or not at all; its kubeconfig, and the headers of its requests. @param user fields of the kubeconfig's user */
async function startServer(isSilent = false, user: object = {}) {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    if (!isSilent) response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-connect-'));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = join(folder, 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { token: 't', ...user } }],
    'current-context': 'c',
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return { kubeconfig, seen };
}

test('calls are made as the user that is named, with groups and uid', async () => {
  const { kubeconfig, seen } = await startServer();
  const given = { kubeconfig, as: 'somebody', asGroup: ['crew', 'night'], asUid: '7' };
  await using connected = connect(checkOptions(AccessOptions, given));
  await connected.client.getText('/readyz');
  expect(seen[0]).toMatchObject({ 'impersonate-user': 'somebody', 'impersonate-group': 'crew, night', 'impersonate-uid': '7' });
});

test('a kubeconfig names as whom calls are made, and flags win over it', async () => {
  const extra = { scopes: ['view', 'edit'], 'acme.test/project': ['blue'] };
  const { kubeconfig, seen } = await startServer(false, { as: 'somebody', 'as-groups': ['crew'], 'as-uid': '7', 'as-user-extra': extra });
  await using connected = connect(checkOptions(AccessOptions, { kubeconfig }));
  await connected.client.getText('/readyz');
  expect(seen[0]).toMatchObject({
    'impersonate-user': 'somebody',
    'impersonate-group': 'crew',
    'impersonate-uid': '7',
    'impersonate-extra-scopes': 'view, edit',
    'impersonate-extra-acme.test%2fproject': 'blue',
  });
  await using other = connect(checkOptions(AccessOptions, { kubeconfig, as: 'another', asGroup: ['night'] }));
  await other.client.getText('/readyz');
  expect(seen[1]).toMatchObject({ 'impersonate-user': 'another', 'impersonate-group': 'night' });
});

test.each([{ 'as-groups': ['crew'] }, { 'as-uid': '7' }, { 'as-user-extra': { scopes: ['view'] } }])(
  'a kubeconfig with %o and no user to act as is refused',
  async (user) => {
    const { kubeconfig } = await startServer(false, user);
    expect(() => connect(checkOptions(AccessOptions, { kubeconfig }))).toThrow('name one in users[].user.as');
  },
);

test('groups without a user are refused', async () => {
  const { kubeconfig } = await startServer();
  expect(() => connect(checkOptions(AccessOptions, { kubeconfig, asGroup: ['crew'] }))).toThrow(
    '--as-group and --as-uid belong to a user: name one with --as',
  );
});

test('a call ends when its time is up', async () => {
  const { kubeconfig } = await startServer(true);
  await using connected = connect(checkOptions(AccessOptions, { kubeconfig, requestTimeout: '1s' }));
  await expect(connected.client.getText('/readyz')).rejects.toMatchObject({
    code: RuntimeErrorCode.timeout,
    message: expect.stringContaining('no answer within 1000 ms'),
  });
});
