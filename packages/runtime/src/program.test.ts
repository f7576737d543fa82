import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { settled } from '@flotilla/pace/testing';
import { afterEach, describe, expect, test } from 'vitest';

const SOON = { timeout: 5_000, interval: 20 };

const FIXTURE = fileURLToPath(new URL('../testing/program-fixture.ts', import.meta.url));
/** A busy machine starts a program slowly. */
const START_MS = 30_000;
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

function run(...args: string[]) {
  const child = fork(FIXTURE, args, { silent: true, execArgv: [] });
  running.push(child);
  const said = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, 'close').then(([code]: unknown[]) => code);
  const port = async (): Promise<string> => {
    await settled(() => expect(said.out).toContain('"msg":"Listening"'), { timeout: START_MS, interval: 20 });
    return /"port":(\d+)/.exec(said.out)?.[1] ?? '';
  };
  return { child, said, ended, port };
}

const ask = async (port: string | number, path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { code: response.status, text: await response.text() };
};

describe('a program', { timeout: 2 * START_MS }, () => {
  test('answers probes, is ready when it says so, tells its metrics, and ends in order at SIGTERM', async () => {
    const { child, said, ended, port } = run('run');
    const at = await port();
    expect(await ask(at, '/healthz')).toEqual({ code: 200, text: 'ok' });
    expect(await ask(at, '/readyz?verbose')).toEqual({ code: 503, text: 'starting' });
    child.send('be ready');
    await settled(async () => expect(await ask(at, '/readyz')).toEqual({ code: 200, text: 'ok' }), SOON);
    expect((await ask(at, '/metrics')).text).toContain('process_cpu_seconds_total');
    expect([(await ask(at, '/constructor')).code, (await ask(at, '/metrics', 'POST')).code]).toEqual([404, 405]);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    const messages = said.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg);
    // A resource that cannot be closed holds up nothing.
    expect(messages).toEqual(['Listening', 'Closing failed', 'Closed first', 'Stopped']);
  });

  test('serves metrics on a port of their own when told so', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const address = free.address();
    const metricsPort = address && typeof address === 'object' ? address.port : 0;
    free.close();
    await once(free, 'close');
    const { port } = run('run', '--metrics-port', String(metricsPort));
    expect((await ask(await port(), '/metrics')).code).toBe(404);
    expect((await ask(metricsPort, '/metrics')).code).toBe(200);
    expect((await ask(metricsPort, '/healthz')).code).toBe(404);
  });

  test.each([
    { what: 'a wrong setting', args: ['--port', 'many'], says: /^fixture: FLOTILLA_CONFIG: --port \(PORT\) is "many": / },
    { what: 'an unknown flag', args: ['--prt', '1'], says: /unknown option '--prt'/ },
  ])('ends with code 2 for $what, and names it', async ({ args, says }) => {
    const { said, ended } = run('run', ...args);
    expect(await ended).toBe(2);
    expect(said.err).toMatch(says);
  });

  test('that fails ends with code 1 and says why', async () => {
    const { said, ended } = run('fail');
    expect(await ended).toBe(1);
    expect(said.err).toBe('fixture: no such cluster\n');
  });

  test('that does not stop is ended after its time', async () => {
    const { child, said, ended, port } = run('hang');
    await port();
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(said.out).toContain('Not stopped in time');
  });
});
