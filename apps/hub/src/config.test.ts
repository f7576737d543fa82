import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { describeOptions } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { options, readConfig } from './config.ts';

describe('readConfig', () => {
  test('has a default for everything', () => {
    expect(readConfig([], {})).toMatchObject({
      role: 'hub',
      installCrds: false,
      talmStrict: false,
      tenancy: false,
      precacheImage: '',
      precacheJobProfile: 'least-privilege',
      jobViewSeconds: 4,
      progressViewSeconds: 5,
      precacheGraceSeconds: 120,
      stepConcurrency: 12,
      httpPort: 8080,
      namespace: 'default',
      logLevel: 'info',
    });
  });

  test('an option wins over its variable, a variable over the default', () => {
    const config = readConfig(['--job-view-seconds', '7'], { JOB_VIEW_SECONDS: '8', PROGRESS_VIEW_SECONDS: '9' });
    expect(config).toMatchObject({ jobViewSeconds: 7, progressViewSeconds: 9 });
  });

  test('images that a PreCachingConfig may name are a list', () =>
    expect(readConfig([], { PRECACHE_IMAGE_ALLOW: 'registry.example/team, sha256:0,' }).precacheImageAllow).toEqual([
      'registry.example/team',
      'sha256:0',
    ]));

  test('a bundle of certificate authorities is read from its file', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-ca-'));
    const file = join(dir, 'ca.pem');
    const pem = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
    await writeFile(file, pem);
    expect(readConfig(['--precache-ca-bundle', file], {}).precacheCaBundle).toBe(pem);
    for (const [text, why] of [
      ['no certificate', 'holds no certificate'],
      [pem.repeat(2_000), 'at most 65536'],
    ] as const) {
      await writeFile(file, text);
      expect(() => readConfig(['--precache-ca-bundle', file], {})).toThrow(why);
    }
    await rm(dir, { recursive: true });
    expect(() => readConfig(['--precache-ca-bundle', file], {})).toThrow(/--precache-ca-bundle \(PRECACHE_CA_BUNDLE\).*ENOENT/);
  });

  test('certificate authorities with a Redis URL without TLS are refused, with the URL but its password', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-ca-'));
    const file = join(dir, 'ca.pem');
    await writeFile(file, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
    const ca = ['--redis-ca', file];
    expect(() => readConfig(ca, { REDIS_URL: 'redis://me:hunter2@redis.example:6379' })).toThrow(
      '--redis-url (REDIS_URL) is "redis://***@redis.example:6379": has no TLS, for which --redis-ca names authorities: write rediss://, or leave --redis-ca out',
    );
    expect(readConfig(ca, { REDIS_URL: 'rediss://redis.example:6380' }).redisCa).toContain('CERTIFICATE');
    expect(readConfig(ca, {}).redisCa).toContain('CERTIFICATE');
    await rm(dir, { recursive: true });
  });

  test("the reference's name of the image variable is read, after ours", () => {
    expect(readConfig([], { PRECACHE_IMG: 'theirs' }).precacheImage).toBe('theirs');
    expect(readConfig([], { PRECACHE_IMG: 'theirs', PRECACHE_IMAGE: 'ours' }).precacheImage).toBe('ours');
    expect(readConfig([], { RECOVERY_IMG: 'theirs' }).backupImage).toBe('theirs');
    expect(readConfig([], { RECOVERY_IMG: 'theirs', BACKUP_IMAGE: 'ours' }).backupImage).toBe('ours');
  });

  test.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
    ['', false],
  ])('TALM_STRICT=%s is %s', (value, want) => expect(readConfig([], { TALM_STRICT: value }).talmStrict).toBe(want));

  test.each([
    { argv: ['--http-port', '99999'], env: {}, want: ['--http-port', 'HTTP_PORT', '"99999"', '65535'] },
    { argv: ['--step-concurrency', 'many'], env: {}, want: ['--step-concurrency', 'STEP_CONCURRENCY', '"many"'] },
    { argv: ['--precache-job-profile', 'root'], env: {}, want: ['--precache-job-profile', '"root"', 'least-privilege'] },
    { argv: ['--update-graph-allow', 'https://graph.example/'], env: {}, want: ['--update-graph-allow', 'hosts'] },
    { argv: [], env: { UPDATE_GRAPH_URL: 'graph' }, want: ['--update-graph-url', 'UPDATE_GRAPH_URL', '"graph"', 'URL'] },
    { argv: ['--role', 'boss'], env: {}, want: ['--role', 'ROLE', '"boss"', 'worker'] },
    { argv: [], env: { ROLE: 'worker' }, want: ['--redis-url', 'REDIS_URL', 'a worker needs the Redis'] },
    {
      argv: ['--role', 'worker'],
      env: { REDIS_URL: 'unix:///run/redis.sock' },
      want: ['"unix:///run/redis.sock"', 'by a host that both reach'],
    },
    { argv: [], env: { TALM_STRICT: 'maybe' }, want: ['--talm-strict', 'TALM_STRICT', '"maybe"'] },
    { argv: ['--talm-strict', '--limit-pulling', '3'], env: {}, want: ['--talm-strict', 'knows no limits', '--limit-pulling'] },
    { argv: ['--limit-upgrading', '0'], env: {}, want: ['--limit-upgrading', 'LIMIT_UPGRADING', '"0"'] },
    { argv: ['--precache-grace-seconds', '-1'], env: {}, want: ['--precache-grace-seconds', '"-1"', '>=0'] },
    { argv: ['--precache-registry-config', '{mirrors'], env: {}, want: ['--precache-registry-config', 'PRECACHE_REGISTRY_CONFIG', 'JSON'] },
  ])('$argv $env is refused with option, variable, value and what is expected', ({ argv, env, want }) => {
    let thrown: unknown;
    try {
      readConfig(argv, env);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(FlotillaError);
    expect(thrown).toMatchObject({ code: 'FLOTILLA_CONFIG' });
    for (const part of want) expect(String(thrown)).toContain(part);
  });

  test('no two options share a variable', () => {
    const variables = describeOptions(options).map(({ variable }) => variable);
    expect(new Set(variables).size).toBe(variables.length);
  });
});
