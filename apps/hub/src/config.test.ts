import { readFile } from 'node:fs/promises';
import { FlotillaError } from '@flotilla/api';
import { describe, expect, test } from 'vitest';
import { options, readConfig } from './config.ts';

describe('readConfig', () => {
  test('has a default for everything', () => {
    expect(readConfig([], {})).toMatchObject({
      role: 'hub',
      installCrds: false,
      talmStrict: false,
      precacheImage: '',
      precacheJobProfile: 'least-privilege',
      jobViewSeconds: 4,
      progressViewSeconds: 5,
      precacheGraceSeconds: 120,
      stepConcurrency: 12,
      queueStore: 'auto',
      httpPort: 8080,
      namespace: 'default',
      logLevel: 'info',
    });
  });

  test('an option wins over its variable, a variable over the default', () => {
    const config = readConfig(['--job-view-seconds', '7'], { JOB_VIEW_SECONDS: '8', PROGRESS_VIEW_SECONDS: '9' });
    expect(config).toMatchObject({ jobViewSeconds: 7, progressViewSeconds: 9 });
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
    { argv: [], env: { QUEUE_STORE: 'mysql' }, want: ['--queue-store', 'QUEUE_STORE', '"mysql"', 'embedded'] },
    { argv: ['--precache-job-profile', 'root'], env: {}, want: ['--precache-job-profile', '"root"', 'least-privilege'] },
    { argv: [], env: { UPDATE_GRAPH_URL: 'graph' }, want: ['--update-graph-url', 'UPDATE_GRAPH_URL', '"graph"', 'URL'] },
    { argv: ['--role', 'boss'], env: {}, want: ['--role', 'ROLE', '"boss"', 'worker'] },
    { argv: [], env: { ROLE: 'worker' }, want: ['--redis-url', 'REDIS_URL', 'a worker needs the Redis'] },
    { argv: [], env: { TALM_STRICT: 'maybe' }, want: ['--talm-strict', 'TALM_STRICT', '"maybe"'] },
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

  test('the README lists every option with its variable', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
    for (const [flags, variable] of options) expect(readme).toContain(`| \`${flags.split(' ')[0]}\` | \`${variable}\` |`);
  });

  test('no two options share a variable', () => expect(new Set(options.map(([, variable]) => variable)).size).toBe(options.length));
});
