import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Probes, serveProbes } from './probes.ts';

const dir = mkdtempSync(join(tmpdir(), 'flotilla-metrics-'));
let probes: Probes;
let authorities: string | undefined;

/** A certificate, made with the machine's openssl; without an issuer its own authority. */
function make(name: string, subject: string, issuer?: string) {
  const file = (part: string) => join(dir, `${name}.${part}`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key')];
  const signed = issuer ? ['-CA', join(dir, `${issuer}.crt`), '-CAkey', join(dir, `${issuer}.key`)] : [];
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '2', '-out', file('crt'), '-subj', `/CN=${subject}`, ...signed], {
    stdio: 'ignore',
  });
  return { cert: readFileSync(file('crt'), 'utf8'), key: readFileSync(file('key'), 'utf8') };
}

const clients: Record<string, { cert: string; key: string }> = {};
const pemOf = (name: string): string => clients[name]?.cert ?? '';

beforeAll(async () => {
  make('server', 'localhost');
  for (const [name, subject, issuer] of [
    ['authority', 'authority'],
    ['other', 'other'],
    ['scraper', 'scraper', 'authority'],
    ['curious', 'curious', 'authority'],
    ['stranger', 'scraper', 'other'],
  ] as const)
    clients[name] = make(name, subject, issuer);
  const protectedMetrics = {
    certFile: join(dir, 'server.crt'),
    keyFile: join(dir, 'server.key'),
    clientAuthorities: () => authorities,
    client: 'scraper',
  };
  probes = await serveProbes({ host: '127.0.0.1', port: 0, protectedMetrics }, { notReady: () => undefined, registry: new Registry() });
});
afterAll(async () => {
  await probes?.[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

/** Asks for the metrics on a connection of its own. */
const ask = (client: string, path = '/metrics'): Promise<{ code: number | undefined; text: string }> =>
  new Promise((resolve, reject) => {
    const agent = new Agent({ rejectUnauthorized: false, ...clients[client] });
    get({ host: '127.0.0.1', port: probes.metricsPort, path, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        agent.destroy();
        resolve({ code: response.statusCode, text });
      });
    }).on('error', reject);
  });

test.each([
  { name: 'nobody, while the authorities are not known', client: 'scraper', of: undefined, want: { code: 500 } },
  { name: 'nobody without a certificate', client: 'none', of: 'authority', want: { code: 401, text: 'client certificate required' } },
  { name: 'nobody of another authority', client: 'stranger', of: 'authority', want: { code: 401, text: 'client certificate not trusted' } },
  { name: 'nobody of another name', client: 'curious', of: 'authority', want: { code: 403, text: 'unauthorized common name: curious' } },
  { name: 'the one that is meant', client: 'scraper', of: 'authority', want: { code: 200 } },
  { name: 'whom new authorities vouch for, from then on', client: 'stranger', of: 'other', want: { code: 200 } },
])('metrics are told to $name', async ({ client, of, want }) => {
  authorities = of && pemOf(of);
  expect(await ask(client)).toMatchObject(want);
});

test('probes are answered plainly, to everybody', async () => {
  const response = await fetch(`http://127.0.0.1:${probes.port}/healthz`);
  expect([response.status, await response.text()]).toEqual([200, 'ok']);
});
