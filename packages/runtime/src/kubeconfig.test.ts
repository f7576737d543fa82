import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMap } from '@flotilla/api/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Connection } from './connection.ts';
import { createClient } from './create-client.ts';
import { RuntimeErrorCode } from './errors.ts';
import { loadKubeconfig } from './kubeconfig.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'flotilla-kubeconfig-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

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
    { name: 'YAML of another shape', source: { kubeconfig: '[1, 2]' }, says: 'kubeconfig text' },
    { name: 'an unknown context', source: { kubeconfig: config({ server }), context: 'z' }, says: 'no context "z": name one of x, y' },
    { name: 'a context without a cluster', source: { kubeconfig: config({ server }), context: 'y' }, says: 'names no server' },
    { name: 'no kubeconfig and no pod', source: {}, says: 'in-cluster config' },
  ])('$name', ({ source, says }) => {
    expect(() => createClient(source)).toThrow(
      expect.objectContaining({ code: RuntimeErrorCode.kubeconfig, message: expect.stringContaining(says) }),
    );
  });

  test.each([
    { name: 'plain HTTP without skipping verification', cluster: { server: 'http://127.0.0.1:1' }, says: 'HTTP protocol is not allowed' },
    { name: 'a socks proxy', cluster: { server, 'proxy-url': 'socks5://127.0.0.1:1' }, says: 'name an http proxy' },
  ])('$name, at the first call', async ({ cluster, says }) => {
    const client = createClient({ kubeconfig: config(cluster, { token: 't' }) });
    await expect(client.getText('/readyz')).rejects.toThrow(says);
    await client.close();
  });
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

  test('a server that the authority did not sign is refused', async () => {
    const { cert } = makeCertificate('stranger');
    const client = createClient({ kubeconfig: config({ ...cluster(), 'certificate-authority': cert }, { token: 't' }) });
    await expect(client.getText('/readyz')).rejects.toMatchObject({ code: RuntimeErrorCode.unreachable });
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
    const connection = new Connection(loaded.config);
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

  test('an exec plug-in is asked for the token', async () => {
    const script = join(dir, 'plugin.sh');
    writeFileSync(
      script,
      `#!/bin/sh\necho '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'\n`,
      { mode: 0o755 },
    );
    const client = createClient({
      kubeconfig: config(cluster(), { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: script } }),
    });
    await client.get(ConfigMap, { namespace: 'n', name: 'a' });
    expect(seen.at(-1)?.authorization).toBe('Bearer from-plugin');
    await client.close();
  });
});
