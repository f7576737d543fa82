/** The console of several people: each with a token of their own, by hand and by a real proxy, and with hostile pages and spokes. */
import { createServer } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { freePorts, startServerProcess } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { testIn } from '../../integration/world.ts';
import { look, NO_BROWSER, startBrowser } from './browser.ts';
import { startShared } from './console.ts';
import { PEOPLE, SharedWorld } from './shared-world.ts';

const test = testIn(() => SharedWorld.start());
const ADDRESS = 'https://console.test';
const ESCAPED = '\\u202eexe.\\u001b[31m\\u001b]0;taken\\u0007{{x}}';

/** Arguments of a console for the people of a world. */
const forWorld = ({ server, authority }: SharedWorld, ...more: string[]): string[] => [
  ...['--login', 'token', '--listen', '127.0.0.1:0', '--hub-namespace', 'default'],
  ...['--server', server.url, '--certificate-authority', authority, ...more],
];
const json = { 'content-type': 'application/json' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const Allowed = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

test('each person reads and changes what the API server lets them, which knows them by name on every call', async ({ world }) => {
  await using shared = await startShared(ADDRESS, forWorld(world));
  const mayPatch = async (person: string, group: string, resource: string) => {
    const resourceAttributes = { verb: 'patch', group, resource, ...(resource === 'clustergroupupgrades' && { namespace: 'default' }) };
    const review = { spec: { user: person, resourceAttributes } };
    return Allowed.parse(await world.client.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body: review })).status
      .allowed;
  };
  const seen: Record<string, unknown> = {};
  for (const person of PEOPLE) {
    const token = await world.tokenOf(person);
    const received = await shared.read(token, ({ rights }) => rights !== undefined);
    await eventually(async () => {
      const [first] = await shared.read(token, ({ upgrades }) => upgrades?.isWhole === true);
      return person === 'nobody' || first?.message.upgrades?.rows.length === 1;
    }, `the rows of ${person}`);
    const [whole] = await shared.read(token, ({ upgrades }) => upgrades?.isWhole === true);
    const { upgrades, spokes } = whole?.message ?? {};
    seen[person] = [
      received[0]?.message.viewer,
      upgrades?.rows.map(({ key }) => key),
      spokes?.rows.map(({ key, hold }) => [key, hold !== null]),
    ];
    for (const [action, of, group, resource] of [
      ['pause', 'default/large', 'ran.openshift.io', 'clustergroupupgrades'],
      ['hold', 'site-2', 'cluster.open-cluster-management.io', 'managedclusters'],
    ] as const) {
      const body = JSON.stringify({ action, of, dryRun: true });
      const { status } = await shared.ask('/api/actions', { method: 'POST', headers: { ...json, ...bearer(token) }, body });
      expect({ person, action, status }).toEqual({ person, action, status: (await mayPatch(person, group, resource)) ? 200 : 403 });
    }
    const why = await shared.ask('/api/why?upgrade=default/large', { headers: bearer(token) });
    expect({ person, status: why.status }).toEqual({ person, status: person === 'nobody' ? 403 : 200 });
    for (const question of ['why?upgrade=default/large&cluster=site-1', 'events?upgrade=default/large', 'plan?upgrade=default/large']) {
      const answered = await shared.ask(`/api/${question}`, { headers: bearer(token) });
      if (person === 'nobody') expect({ question, status: answered.status }).toEqual({ question, status: 403 });
    }
    const spoke = await shared.ask('/api/spoke?name=site-1', { headers: bearer(token) });
    if (person === 'nobody') expect(spoke.body).not.toContain('large');
  }
  const all = ['default/large'];
  expect(seen).toEqual({
    reader: [
      'reader',
      all,
      [
        ['site-1', true],
        ['site-2', false],
      ],
    ],
    // Names of spokes stand in the upgrade, which they may read; nothing of the spokes themselves does.
    half: [
      'half',
      all,
      [
        ['site-1', false],
        ['site-2', false],
      ],
    ],
    operator: [
      'operator',
      all,
      [
        ['site-1', true],
        ['site-2', false],
      ],
    ],
    nobody: ['nobody', [], []],
  });

  const calls = await world.calls();
  expect([...new Set(calls.map(({ user }) => user.username))].toSorted()).toEqual([...PEOPLE].toSorted());
  expect(calls.filter(({ impersonatedUser }) => impersonatedUser !== undefined)).toEqual([]);
  const done = calls.filter(
    ({ objectRef, responseStatus }) => objectRef && !objectRef.resource.startsWith('selfsubject') && (responseStatus?.code ?? 500) < 400,
  );
  expect(done.length).toBeGreaterThan(10);
  const wishes = new Set(done.map(({ user, verb, objectRef }) => JSON.stringify({ user: user.username, verb, ...objectRef })));
  for (const wish of wishes) {
    const { user, verb, apiGroup: group = '', resource, namespace, name } = JSON.parse(wish);
    const body = { spec: { user, resourceAttributes: { verb, group, resource, namespace, name } } };
    const { status } = Allowed.parse(await world.client.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body }));
    expect({ wish, allowed: status.allowed }).toEqual({ wish, allowed: true });
  }
});

test('who has no token, a wrong one, or comes from another page gets nothing, and no call is made for them', async ({ world }) => {
  await using shared = await startShared(ADDRESS, forWorld(world, '--viewers', '1'));
  const known = bearer(await world.tokenOf('reader'));
  const before = (await world.calls()).length;
  for (const { status, ...options } of [
    { status: 401, headers: {} },
    { status: 401, headers: { authorization: 'Bearer ' } },
    { status: 401, headers: { 'x-forwarded-access-token': await world.tokenOf('reader') } },
    { status: 421, headers: { ...known, host: 'evil.test' } },
    { status: 421, headers: { ...known, host: `127.0.0.1:${shared.port}` } },
    { status: 403, headers: { ...known, origin: 'https://evil.test' } },
    { status: 403, headers: { ...known, origin: 'http://console.test' } },
    { status: 403, headers: { ...known, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' } },
    { status: 403, headers: { ...known, 'sec-fetch-site': 'same-site' } },
  ]) {
    const answered = await shared.ask('/api/why?upgrade=default/large', options);
    expect({ options, status: answered.status }).toEqual({ options, status });
    expect(answered.body).not.toContain('site-1');
  }
  expect((await world.calls()).length).toBe(before);
  expect(await shared.ask('/api/viewer', { headers: bearer('0123456789abcdef') })).toMatchObject({
    status: 401,
    body: expect.stringContaining('does not know this token'),
  });
  expect(JSON.parse((await shared.ask('/api/viewer', { headers: known })).body)).toEqual({ viewer: 'reader' });
  expect(JSON.parse((await shared.ask('/login')).body)).toEqual({ login: 'token' });
  expect(shared.said()).not.toContain(await world.tokenOf('reader'));
});

test('it speaks TLS by itself, and is not started where tokens would cross the network in the clear', async ({ world }) => {
  const { cert, key } = world.certificate;
  await using shared = await startShared(ADDRESS, forWorld(world, '--tls-cert', cert, '--tls-key', key));
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const options = { port: shared.port, host: '127.0.0.1', path: '/login', headers: { host: 'console.test' }, rejectUnauthorized: false };
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });
  expect(status).toBe(200);
  await expect(shared.ask('/login')).rejects.toThrow();
  await expect(startShared(ADDRESS, forWorld(world, '--listen', '0.0.0.0:0'))).rejects.toThrow(/cross the network in the clear/);
});

test('in a browser a token is pasted and kept in memory alone, and no other page reaches anything or frames it', async ({
  world,
  skip,
}) => {
  const browser = await startBrowser(
    '--host-resolver-rules=MAP console.test 127.0.0.1, MAP evil.test 127.0.0.1',
    '--ignore-certificate-errors',
  );
  if (!browser) return skip(NO_BROWSER);
  await using _ended = { [Symbol.asyncDispose]: () => browser.close() };
  const [port = 0] = await freePorts(1);
  const address = `https://console.test:${port}`;
  const { cert, key } = world.certificate;
  await using _shared = await startShared(address, forWorld(world, '--listen', `127.0.0.1:${port}`, '--tls-cert', cert, '--tls-key', key));
  const token = await world.tokenOf('reader');
  await using seen = await look(browser, `${address}/spokes/site-1`, { ignoreHTTPSErrors: true });
  const { page } = seen;
  await logIn(page, '0123456789abcdef');
  await page.getByText('does not know this token').waitFor();
  await logIn(page, token);
  await page.getByText('as reader').waitFor();
  const held = page.getByText('held: <img').first();
  await held.waitFor();
  expect(await held.textContent()).toContain(`</script>${ESCAPED}`);
  expect(await page.evaluate('JSON.stringify([document.cookie, location.href, { ...sessionStorage }, { ...localStorage }])')).not.toContain(
    token,
  );
  for (const path of ['/', '/?why=site-1', '/upgrades/default/large', '/upgrades/default/large?why=site-1']) {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`);
    await page.getByText('<img').first().waitFor();
    expect({ path, images: await page.locator('img').count(), title: await page.title() }).toEqual({
      path,
      images: 0,
      title: expect.not.stringContaining('taken'),
    });
    expect(await page.locator('body').textContent()).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  }
  // The browser itself says so of each answer that is no success.
  expect(seen.complaints.filter((complaint) => !complaint.includes('401'))).toEqual([]);

  const foreign = createServer(
    (_, response) => void response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title><body>'),
  );
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void foreign.close(() => resolve())));
  const at = foreign.address();
  if (at === null || typeof at === 'string') throw new TypeError('no port');
  for (const origin of [`http://console.test:${at.port}`, `http://evil.test:${at.port}`]) {
    await using evil = await look(browser, origin, { ignoreHTTPSErrors: true });
    const tries = `Promise.all([
      fetch('${address}/api/viewer', { headers: { authorization: 'Bearer ${token}' } }).then(() => 'read', () => 'refused'),
      fetch('${address}/api/actions', { method: 'POST', mode: 'no-cors', body: '{"action":"hold","of":"site-2","dryRun":false}' }).then(({ type }) => type, () => 'refused'),
      fetch('${address}/login').then(() => 'read', () => 'refused'),
      new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = '${address}/'; frame.onload = () => { try { resolve(frame.contentDocument === null ? 'closed' : 'open'); } catch { resolve('closed'); } }; document.body.append(frame); }),
      new Promise((resolve) => { const script = document.createElement('script'); script.src = '${address}/login'; script.onload = () => resolve('run'); script.onerror = () => resolve('refused'); document.body.append(script); }),
    ])`;
    const [read, , login, frame, script] = z.array(z.string()).parse(await evil.page.evaluate(tries));
    expect({ origin, read, login, frame, script }).toEqual({
      origin,
      read: 'refused',
      login: 'refused',
      frame: 'closed',
      script: 'refused',
    });
  }
  await using rebound = await look(browser, `https://evil.test:${port}/`, { ignoreHTTPSErrors: true });
  expect(await rebound.page.locator('body').textContent()).toContain('Host is');
  expect((await world.client.get(ManagedCluster, { name: 'site-2' }))?.metadata.annotations?.[Annotation.hold]).toBeUndefined();
  await page.reload();
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  // Another tab, at which nobody looks, offers a token that has run out.
  const stale = await page.context().newPage();
  await stale.goto(`${address}/login`);
  await stale.evaluate(`{
    const channel = new BroadcastChannel('flotilla-token');
    channel.onmessage = ({ data }) => data === 'ask' && channel.postMessage('0123456789abcdef');
  }`);
  await page.reload();
  await page.getByRole('button', { name: 'Log in' }).waitFor();
});

test('in a browser, who may read half of it is told which right is missing, and is offered no change', async ({ world, skip }) => {
  const browser = await startBrowser('--host-resolver-rules=MAP console.test 127.0.0.1', '--ignore-certificate-errors');
  if (!browser) return skip(NO_BROWSER);
  await using _ended = { [Symbol.asyncDispose]: () => browser.close() };
  const [port = 0] = await freePorts(1);
  const address = `https://console.test:${port}`;
  const { cert, key } = world.certificate;
  await using _shared = await startShared(address, forWorld(world, '--listen', `127.0.0.1:${port}`, '--tls-cert', cert, '--tls-key', key));
  for (const [person, path, lack, button] of [
    ['half', '/upgrades/default/large', /you may not patch clustergroupupgrades/, /^Retry failed…|^Pause…/],
    ['half', '/spokes/site-1', /you may not list managedclusters/, /^Hold…|^Unhold…/],
    ['reader', '/spokes/site-1', /you may not patch managedclusters/, /^Unhold…/],
    ['nobody', '/', /you may not list clustergroupupgrades/, undefined],
  ] as const) {
    await using seen = await look(browser, `${address}${path}`, { ignoreHTTPSErrors: true });
    await logIn(seen.page, await world.tokenOf(person));
    await seen.page.getByText(lack).first().waitFor();
    for (const each of button ? await seen.page.getByRole('button', { name: button }).all() : [])
      expect({ person, path, isDisabled: await each.isDisabled() }).toEqual({ person, path, isDisabled: true });
    if (button) expect(await seen.page.getByRole('button', { name: button }).count()).toBeGreaterThan(0);
    const text = await seen.page.locator('body').textContent();
    // What stands in the ManagedCluster alone is for those who may read it.
    if (person !== 'reader') expect(text).not.toContain('held: <img');
    if (person === 'nobody') expect(text).not.toMatch(/site-1|default\/large/);
  }
  expect((await world.client.get(ManagedCluster, { name: 'site-2' }))?.metadata.annotations?.[Annotation.hold]).toBeUndefined();
});

// The proxy is built where no run has built it yet.
test('a real proxy in front logs people in, and their token is that of every call', { timeout: 600_000 }, async ({ world, skip }) => {
  const browser = await startBrowser('--host-resolver-rules=MAP console.test 127.0.0.1', '--ignore-certificate-errors');
  if (!browser) return skip(NO_BROWSER);
  await using _ended = { [Symbol.asyncDispose]: () => browser.close() };
  const tools = await ensureTools(['oauth2-proxy']);
  const [port = 0, behind = 0] = await freePorts(2);
  const { cert, key } = world.certificate;
  const address = `https://console.test:${port}`;
  await using shared = await startShared(address, forWorld(world, '--login', 'authorization', '--listen', `127.0.0.1:${behind}`));
  await using _proxy = await startServerProcess({
    name: 'oauth2-proxy',
    program: tools.path('oauth2-proxy'),
    args: [
      `--https-address=127.0.0.1:${port}`,
      ...[`--tls-cert-file=${cert}`, `--tls-key-file=${key}`, `--provider-ca-file=${cert}`],
      ...['--provider=oidc', `--oidc-issuer-url=${world.issuer.url}`, '--client-id=console', '--client-secret=not-looked-at'],
      ...[`--redirect-url=${address}/oauth2/callback`, `--upstream=http://127.0.0.1:${behind}/`, '--email-domain=*'],
      ...['--cookie-secret=0123456789abcdef', '--pass-authorization-header', '--skip-provider-button', '--http-address='],
    ],
    logFile: join(world.dir, 'oauth2-proxy.log'),
  });
  const answers = () => fetchStatus(port);
  await eventually(async () => (await answers()) !== undefined, 'the proxy to listen');
  // Without a log-in nothing comes through.
  expect(await answers()).toBe(401);

  world.issuer.become('ann');
  await using seen = await look(browser, address, { ignoreHTTPSErrors: true });
  await seen.page.getByText('as oidc:ann@example.com').waitFor();
  await seen.page.getByRole('grid', { name: 'Spokes' }).getByText('site-2').first().waitFor();
  await seen.page.goto(`${address}/spokes/site-2`);
  await seen.page.getByRole('heading', { level: 1, name: 'site-2' }).waitFor();
  await seen.page.getByText('as oidc:ann@example.com').waitFor();
  world.issuer.become('eve');
  await using other = await look(browser, address, { ignoreHTTPSErrors: true });
  await other.page.getByText('as oidc:eve@example.com').waitFor();
  await other.page.getByText('you may not list clustergroupupgrades').first().waitFor();
  expect(await other.page.locator('body').textContent()).not.toContain('site-2');
  const names = new Set((await world.calls()).map(({ user }) => user.username).filter((name) => name.startsWith('oidc:')));
  expect([...names].toSorted()).toEqual(['oidc:ann@example.com', 'oidc:eve@example.com']);
  expect(shared.said()).toContain('"oidc:ann@example.com" looks');
});

/** Pastes a token into the page that asks for one. */
async function logIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Your token of the hub's API server").fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}

/** Status of an answer to somebody without a log-in; undefined while nobody listens. */
function fetchStatus(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { host: `console.test:${port}`, accept: 'application/json' };
    request({ port, host: '127.0.0.1', path: '/api/viewer', headers, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', () => resolve(undefined))
      .end();
  });
}
