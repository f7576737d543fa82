import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer, configMap, startScriptedServer } from '../testing/scripted-server.ts';
import { createClient } from './create-client.ts';
import { RuntimeErrorCode } from './errors.ts';
import { execPlugin } from './exec-plugin.ts';
import { loadKubeconfig } from './kubeconfig.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'flotilla-exec-plugin-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const CREDENTIAL = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 't' } };
const PRINTS = `echo '${JSON.stringify(CREDENTIAL)}'`;

/** Writes a plug-in; says where it is. */
function plugin(name: string, script: string): string {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A kubeconfig with a plug-in. */
const kubeconfig = (exec: object, server = 'https://127.0.0.1:1'): string =>
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', ...exec } } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });

/** A plug-in by its kubeconfig, and its words so far. */
function asked(exec: object, options: { readonly timeoutMs?: number } = {}) {
  const said: string[] = [];
  const access = loadKubeconfig({ kubeconfig: kubeconfig(exec) });
  return { provide: execPlugin(access, { ...options, write: (text) => void said.push(text) }), said };
}

const HINT = 'get it at https://example.com/login';

test.each([
  {
    name: 'one that fails',
    exec: () => ({ command: plugin('fails', 'echo "token expired: run corp login" >&2; exit 7') }),
    says: 'exec plug-in fails: ended with 7: token expired: run corp login: log in again, or name another --context',
  },
  {
    name: 'one that fails, with a hint',
    exec: () => ({ command: plugin('fails', 'exit 1'), installHint: HINT }),
    says: `exec plug-in fails: ended with 1: log in again, or name another --context; ${HINT}`,
  },
  {
    name: 'a missing one',
    exec: () => ({ command: 'no-such-plugin' }),
    says: 'exec plug-in no-such-plugin: is not there: install it, or correct users[].user.exec.command of the kubeconfig',
  },
  {
    name: 'a missing one, with a hint',
    exec: () => ({ command: join(dir, 'gone'), installHint: HINT }),
    says: `exec plug-in gone: is not there: ${HINT}`,
  },
  {
    name: 'one that prints no JSON',
    exec: () => ({ command: plugin('chatty', 'echo sesame') }),
    says: 'exec plug-in chatty: printed no ExecCredential with a token or a certificate: run it by hand',
  },
  {
    name: 'one that prints no credential',
    exec: () => ({ command: plugin('empty', `echo '{"kind":"ExecCredential","status":{}}'`) }),
    says: 'exec plug-in empty: printed no ExecCredential with a token or a certificate: run it by hand',
  },
  {
    name: 'one without a command',
    exec: () => ({ args: ['login'] }),
    says: expect.stringMatching(/^exec plug-in: cannot be used: .*command: correct users\[\]\.user\.exec of the kubeconfig$/s),
  },
])('$name is named, with its words and the next step', async ({ exec, says }) => {
  const client = createClient({ kubeconfig: kubeconfig(exec()) });
  await expect(client.getText('/readyz')).rejects.toMatchObject({ code: RuntimeErrorCode.execPlugin, message: says });
  await client.close();
});

test('its words in an error are the last 300 characters on one line, and all of them are passed on', async () => {
  const script = `printf '\\033[2Jred\\r\\n' >&2; i=0; while [ $i -lt 200 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`;
  const { provide, said } = asked({ command: plugin('loud', script) });
  const error = await provide().catch((thrown: unknown) => thrown);
  const message = error instanceof Error ? error.message : '';
  const [, words = ''] = /ended with 1: (.*): log in again/.exec(message) ?? [];
  expect(words).toHaveLength(300);
  expect(words).toMatch(/^….*line 198 line 199$/);
  expect(message).not.toMatch(/\p{Cc}/u);
  expect(said.join('').startsWith('\u001b[2Jred\r\nline 0\n')).toBe(true);
  expect(said.join('').endsWith('line 199\n')).toBe(true);
});

test('standard error of one that gives a credential is passed on, and is no error', async () => {
  const { provide, said } = asked({ command: plugin('polite', `echo "open https://login.example" >&2; ${PRINTS}`) });
  expect(await provide()).toEqual({ headers: { authorization: 'Bearer t' } });
  expect(said).toEqual(['open https://login.example\n']);
});

test('a missing one leaves nothing that keeps the program from its end', () => {
  const config = kubeconfig({ command: join(dir, 'gone') });
  const script = `const { createClient } = await import(${JSON.stringify(join(import.meta.dirname, 'create-client.ts'))});
    const client = createClient({ kubeconfig: ${JSON.stringify(config)} });
    await client.getText('/readyz').catch(({ code }) => console.log(code));
    await client.close();`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8', timeout: 60_000 });
  expect(ended).toMatchObject({ status: 0, stdout: `${RuntimeErrorCode.execPlugin}\n` });
}, 90_000);

test('a slow one is named while it is waited for', async () => {
  const go = join(dir, 'go');
  const { provide, said } = asked({ command: plugin('slow', `while [ -d ${dir} ] && [ ! -e ${go} ]; do sleep 0.05; done; ${PRINTS}`) });
  const provided = provide();
  await eventually(() => expect(said).toEqual(['waiting for exec plug-in slow\n']));
  writeFileSync(go, '');
  expect(await provided).toEqual({ headers: { authorization: 'Bearer t' } });
});

test('one that takes too long is killed though it ignores SIGTERM and its child holds its output open', async () => {
  const file = join(dir, 'stubborn-pid');
  // The loop's sleep is a child of its own with the same pipes.
  const script = `trap '' TERM; echo $$ >${file}; echo "open the browser" >&2; while [ -d ${dir} ]; do sleep 0.5; done`;
  const { provide } = asked({ command: plugin('stubborn', script) }, { timeoutMs: 2_000 });
  await expect(provide()).rejects.toMatchObject({
    code: RuntimeErrorCode.execPlugin,
    message: 'exec plug-in stubborn: took longer than 2 s: open the browser: log in again, or name another --context',
  });
  const pid = Number(readFileSync(file, 'utf8'));
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
});

test('a plug-in gets the variables of the kubeconfig, and is told for whom it is asked', async () => {
  const file = join(dir, 'environment');
  const exec = { command: plugin('nosy', `echo "$WHO $KUBERNETES_EXEC_INFO" >${file}; ${PRINTS}`), env: [{ name: 'WHO', value: 'me' }] };
  await asked({ ...exec, provideClusterInfo: true, interactiveMode: 'Never' }).provide();
  const [, who, info = ''] = /^(\w+) (.*)\n$/.exec(readFileSync(file, 'utf8')) ?? [];
  expect(who).toBe('me');
  expect(JSON.parse(info)).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server: 'https://127.0.0.1:1', 'insecure-skip-tls-verify': true } },
  });
});

test('a credential that has run out is asked for anew', async () => {
  const count = join(dir, 'count');
  const status = { token: 't', expirationTimestamp: '2020-01-01T00:00:00Z' };
  const { provide } = asked({
    command: plugin('short', `printf x >>${count}; echo '${JSON.stringify({ ...CREDENTIAL, status })}'`),
  });
  await provide();
  await provide();
  expect(readFileSync(count, 'utf8')).toBe('xx');
});

test('where a person logs in, the time of a call begins with the credentials', async () => {
  await using server = await startScriptedServer();
  server.fallback = answer(configMap('a', '1'));
  const { clusters } = JSON.parse(server.kubeconfig) as { clusters: { cluster: { server: string } }[] };
  const go = join(dir, 'logged-in');
  const exec = { command: plugin('tardy', `while [ -d ${dir} ] && [ ! -e ${go} ]; do sleep 0.05; done; ${PRINTS}`) };
  const options = { kubeconfig: kubeconfig(exec, clusters[0]?.cluster.server) };
  const [patient, hasty] = [createClient({ ...options, waitsForLogin: true }), createClient(options)];
  const answered = patient.getText('/readyz', { timeoutMs: 1_000 });
  await expect(hasty.getText('/readyz', { timeoutMs: 1_000 })).rejects.toMatchObject({ code: RuntimeErrorCode.timeout });
  writeFileSync(go, '');
  expect(await answered).toContain('"name":"a"');
  await Promise.all([patient.close(), hasty.close()]);
});
