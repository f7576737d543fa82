import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ConfigMap } from '@flotilla/api/core';
import { playChains, trustByRule } from '@flotilla/http/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedServer } from '../testing/scripted-server.ts';
import { Connection } from './connection.ts';
import { createClient } from './create-client.ts';
import { isUntrusted, RuntimeErrorCode } from './errors.ts';
import { loadKubeconfig } from './kubeconfig.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'flotilla-kubeconfig-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Writes a file; says where it is. */
function write(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

const config = (cluster: object, user: object = {}): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'x', context: { cluster: 'c', user: 'u' } },
      { name: 'y', context: { cluster: 'gone', user: 'u' } },
    ],
    'current-context': 'x',
  });

describe('a kubeconfig that cannot be used is named with the fix', () => {
  const server = 'https://127.0.0.1:1';
  test.each([
    { name: 'a missing file', source: { kubeconfigPath: '/nowhere/kubeconfig' }, says: '/nowhere/kubeconfig cannot be read' },
    { name: 'no YAML', source: { kubeconfig: '{' }, says: 'kubeconfig text cannot be read' },
    { name: 'YAML of another shape', source: { kubeconfig: '[1, 2]' }, says: 'kubeconfig text cannot be read' },
    {
      name: 'a field of another type',
      source: { kubeconfig: config({ server, 'certificate-authority': 7 }) },
      says: 'certificate-authority',
    },
    { name: 'an unknown context', source: { kubeconfig: config({ server }), context: 'z' }, says: 'no context "z": name one of x, y' },
    { name: 'a context without a cluster', source: { kubeconfig: config({ server }), context: 'y' }, says: 'names no server' },
    { name: 'no kubeconfig and no pod', source: {}, says: 'in-cluster config' },
  ])('$name', ({ source, says }) => {
    expect(() => createClient(source)).toThrow(
      expect.objectContaining({ code: RuntimeErrorCode.kubeconfig, message: expect.stringContaining(says) }),
    );
  });

  test('and what it says is not in the message', () => {
    const kubeconfig = 'users: [{name: u, user: {token: "secret-token}}]';
    expect(() => createClient({ kubeconfig })).toThrow(expect.not.objectContaining({ message: expect.stringContaining('secret-token') }));
  });

  test.each([
    {
      name: 'plain HTTP without skipping verification',
      cluster: { server: 'http://127.0.0.1:1' },
      says: 'plain HTTP shows the credentials to anybody on the way; use https',
    },
    { name: 'a socks proxy', cluster: { server, 'proxy-url': 'socks5://127.0.0.1:1' }, says: 'name an http proxy' },
  ])('$name, at the first call', async ({ cluster, says }) => {
    const client = createClient({ kubeconfig: config(cluster, { token: 't' }) });
    await expect(client.getText('/readyz')).rejects.toThrow(says);
    await client.close();
  });
});

test.each(['a file', 'data'])('the CA of a kubeconfig, as %s, is trusted as Go trusts it', async (form) => {
  const outcomes = await playChains(async (url, ca) => {
    const trust =
      form === 'data'
        ? { 'certificate-authority-data': Buffer.from(ca).toString('base64') }
        : { 'certificate-authority': write('chain.crt', ca) };
    const client = createClient({ kubeconfig: config({ server: url.origin, ...trust }, { token: 't' }) });
    try {
      return await client.getText('/readyz');
    } finally {
      await client.close();
    }
  });
  expect(outcomes).toEqual(trustByRule);
});

test('a CA file without a certificate is named', async () => {
  const cluster = { server: 'https://127.0.0.1:1', 'certificate-authority': write('none.crt', 'no certificate') };
  const client = createClient({ kubeconfig: config(cluster, { token: 't' }) });
  await expect(client.getText('/readyz')).rejects.toThrow('certificate-authority of the cluster has no readable certificate');
  await client.close();
});

/** Key and certificate for 127.0.0.1, made with the machine's openssl. */
function makeCertificate(name: string): { key: string; cert: string } {
  const [key, cert] = [join(dir, `${name}.key`), join(dir, `${name}.crt`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      key,
      '-out',
      cert,
      ...subject,
    ],
    { stdio: 'ignore' },
  );
  return { key, cert };
}

describe('over TLS', () => {
  let server: Http2SecureServer;
  let authority: string;
  let port: number;
  let sessions = 0;
  let subject = '';
  let isRefusing = false;
  const seen: { protocol: string; authorization: string | undefined }[] = [];

  beforeAll(async () => {
    const { key, cert } = makeCertificate('server');
    authority = cert;
    server = createSecureServer({
      key: readFileSync(key),
      cert: readFileSync(cert),
      allowHTTP1: true,
      requestCert: true,
      rejectUnauthorized: false,
    });
    server.on('secureConnection', (socket) => {
      sessions++;
      subject = String(socket.getPeerCertificate()?.subject?.CN ?? '');
    });
    server.on('request', (request, response) => {
      seen.push({ protocol: request.httpVersion, authorization: request.headers.authorization });
      if (isRefusing) response.writeHead(401);
      isRefusing = false;
      response.end('{"metadata":{"name":"a","namespace":"n"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    port = address && typeof address === 'object' ? address.port : 0;
  });
  afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())));

  const cluster = () => ({ server: `https://127.0.0.1:${port}`, 'certificate-authority': authority });

  test('many calls at once share one HTTP/2 session', async () => {
    const client = createClient({ kubeconfig: config(cluster(), { token: 't' }) });
    const before = sessions;
    await client.get(ConfigMap, { namespace: 'n', name: 'a' });
    await Promise.all(Array.from({ length: 50 }, () => client.get(ConfigMap, { namespace: 'n', name: 'a' })));
    expect(sessions - before).toBe(1);
    expect(seen.at(-1)).toMatchObject({ protocol: '2.0', authorization: 'Bearer t' });
    await client.close();
  });

  test('a client that is closed ends its calls, also beside given up ones, and nobody else meets an error', async () => {
    const strays: unknown[] = [];
    const note = (error: unknown): void => void strays.push(error);
    process.on('uncaughtExceptionMonitor', note);
    const client = createClient({ kubeconfig: config(cluster(), { token: 't' }) });
    const stop = new AbortController();
    const givenUp = Array.from({ length: 6 }, () => client.getText('/readyz', { signal: stop.signal }));
    const others = Array.from({ length: 3 }, () => client.getText('/readyz'));
    const ended = Promise.allSettled([...givenUp, ...others]);
    await once(server, 'stream');
    stop.abort();
    await client.close();
    const results = await ended;
    await setImmediate();
    process.off('uncaughtExceptionMonitor', note);
    expect(strays).toEqual([]);
    expect(results.slice(6)).toEqual(
      others.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: RuntimeErrorCode.stopped }) })),
    );
  });

  test('a server that the authority did not sign is refused', async () => {
    const { cert } = makeCertificate('stranger');
    const client = createClient({ kubeconfig: config({ ...cluster(), 'certificate-authority': cert }, { token: 't' }) });
    const error = await client.getText('/readyz').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: RuntimeErrorCode.unreachable, serverMessage: 'self-signed certificate' });
    expect(isUntrusted(error)).toBe(true);
    await client.close();
  });

  test('a server that speaks no TLS is said to speak none', async () => {
    await using plain = await startScriptedServer();
    const { clusters } = JSON.parse(plain.kubeconfig) as { clusters: { cluster: { server: string } }[] };
    const server = clusters[0]?.cluster.server.replace('http:', 'https:');
    const client = createClient({ kubeconfig: config({ server }, { token: 't' }) });
    await expect(client.getText('/readyz')).rejects.toMatchObject({ serverMessage: 'the server does not speak TLS there' });
    await client.close();
  });

  test('new connections are made when the client certificate rotates', async () => {
    const [first, second] = [makeCertificate('first'), makeCertificate('second')];
    const [key, cert] = [join(dir, 'user.key'), join(dir, 'user.crt')];
    const install = (pair: { key: string; cert: string }): void => {
      writeFileSync(key, readFileSync(pair.key));
      writeFileSync(cert, readFileSync(pair.cert));
    };
    install(first);
    const loaded = loadKubeconfig({ kubeconfig: config(cluster(), { 'client-certificate': cert, 'client-key': key }) });
    const connection = new Connection(loaded);
    const { dispatchers } = await connection.current();
    expect((await connection.current()).dispatchers).toBe(dispatchers);
    install(second);
    connection.forgetCredentials();
    const rotated = await connection.current();
    expect(rotated.dispatchers).not.toBe(dispatchers);
    const { body } = await rotated.dispatchers.calls.request({ origin: loaded.server, path: '/', method: 'GET' });
    await body.dump();
    expect(subject).toBe('second');
    await connection.close();
  });

  test('a client certificate that is there before its key leaves the last connection, and counts once both are', async () => {
    const [own, next] = [makeCertificate('own'), makeCertificate('next')];
    const [cert, key] = [write('rotated.crt', readFileSync(own.cert, 'utf8')), write('rotated.key', readFileSync(own.key, 'utf8'))];
    const loaded = loadKubeconfig({ kubeconfig: config(cluster(), { 'client-certificate': cert, 'client-key': key }) });
    const connection = new Connection(loaded);
    const { dispatchers } = await connection.current();
    write('rotated.crt', readFileSync(next.cert, 'utf8'));
    connection.forgetCredentials();
    expect((await connection.current()).dispatchers).toBe(dispatchers);
    write('rotated.key', readFileSync(next.key, 'utf8'));
    const rotated = await connection.current();
    const { body } = await rotated.dispatchers.calls.request({ origin: loaded.server, path: '/', method: 'GET' });
    await body.dump();
    expect(subject).toBe('next');
    await connection.close();
  });

  test.each([
    { name: 'a token', user: () => ({ token: 't' }), want: 'Bearer t' },
    {
      name: 'a token file, before a token',
      user: () => ({ token: 't', tokenFile: write('token', 'from-file\n') }),
      want: 'Bearer from-file',
    },
    {
      name: 'a name and a password',
      user: () => ({ username: 'u', password: 'p' }),
      want: `Basic ${Buffer.from('u:p').toString('base64')}`,
    },
    {
      name: 'a provider',
      user: () => ({ 'auth-provider': { name: 'f', config: { tokenFile: write('other', 'provided') } } }),
      want: 'Bearer provided',
    },
  ])('$name goes with each call', async ({ user, want }) => {
    const client = createClient({ kubeconfig: config(cluster(), user()) });
    await client.get(ConfigMap, { namespace: 'n', name: 'a' });
    expect(seen.at(-1)?.authorization).toBe(want);
    await client.close();
  });

  test('a token file that is empty or gone while it is rotated leaves the last token', async () => {
    const file = write('rotated.token', 'first');
    const connection = new Connection(loadKubeconfig({ kubeconfig: config(cluster(), { tokenFile: file }) }));
    const bearer = async () => {
      connection.forgetCredentials();
      return (await connection.current()).headers.authorization;
    };
    expect(await bearer()).toBe('Bearer first');
    write('rotated.token', '');
    expect(await bearer()).toBe('Bearer first');
    rmSync(file);
    expect(await bearer()).toBe('Bearer first');
    write('rotated.token', 'second\n');
    expect(await bearer()).toBe('Bearer second');
    await connection.close();
  });

  test('a token file that is empty from the beginning is named', async () => {
    const file = write('empty.token', ' \n');
    const connection = new Connection(loadKubeconfig({ kubeconfig: config(cluster(), { tokenFile: file }) }));
    await expect(connection.current()).rejects.toThrow(`token file ${file} is empty`);
    await connection.close();
  });

  test('paths count from the folder of the kubeconfig', async () => {
    write('ca.pem', readFileSync(authority, 'utf8'));
    write('here.token', 'beside');
    const path = write('kubeconfig', config({ ...cluster(), 'certificate-authority': 'ca.pem' }, { tokenFile: 'here.token' }));
    const client = createClient({ kubeconfigPath: path });
    await client.get(ConfigMap, { namespace: 'n', name: 'a' });
    expect(seen.at(-1)?.authorization).toBe('Bearer beside');
    await client.close();
  });

  test('so does the command of an exec plug-in, where it is a path', async () => {
    const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'near' } };
    chmodSync(write('near.sh', `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`), 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './near.sh' };
    const client = createClient({ kubeconfigPath: write('kubeconfig', config(cluster(), { exec })) });
    await client.get(ConfigMap, { namespace: 'n', name: 'a' });
    expect(seen.at(-1)?.authorization).toBe('Bearer near');
    await client.close();
  });

  test('an exec plug-in is asked for the token once, and again when the server refuses it', async () => {
    const count = join(dir, 'count');
    const script = write(
      'plugin.sh',
      `#!/bin/sh\nprintf x >>${count}\necho '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$(cat ${count})'"}}'\n`,
    );
    chmodSync(script, 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: script };
    const client = createClient({ kubeconfig: config(cluster(), { exec }) });
    const asked = async () => {
      await client.get(ConfigMap, { namespace: 'n', name: 'a' });
      return seen.at(-1)?.authorization;
    };
    expect([await asked(), await asked()]).toEqual(['Bearer x', 'Bearer x']);
    isRefusing = true;
    expect(await asked()).toBe('Bearer xx');
    await client.close();
  });
});
