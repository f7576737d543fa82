import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  describeOptions,
  type OptionRows,
  option,
  pathFromCaller,
  proxiesOf,
  proxySettings,
  readOptionFile,
  readOptions,
  schemaOf,
} from './options.ts';

const rows = {
  boats: ['<n>', option.whole(1, 10).default(3), 'how many'],
  sails: ['[on]', option.flag(false), 'with `sails`'],
  homePort: ['<name>', z.string({ error: 'is required: name a harbour' }), 'where from'],
  noWind: ['<places>', z.string().optional(), 'where there is none', 'CALM'],
} satisfies OptionRows;
const schema = schemaOf(rows).extend({ crew: z.string().default('nobody') });
const read = (argv: string[], env: Record<string, string> = {}, otherwise: Record<string, unknown> = {}) =>
  readOptions({ program: 'fleet', description: '', rows, schema, argv, env, otherwise });

describe('readOptions', () => {
  test('a flag wins over its variable, that over what is said otherwise, that over the default', () => {
    const otherwise = { boats: 1, homePort: 'c', crew: undefined };
    const config = read(['--boats', '7'], { BOATS: '8', HOME_PORT: 'b' }, otherwise);
    expect(config).toEqual({ boats: 7, sails: false, homePort: 'b', crew: 'nobody' });
    expect(read([], { BOATS: '' }, otherwise)).toMatchObject({ boats: 1, homePort: 'c' });
    expect(Object.isFrozen(config)).toBe(true);
  });

  test.each([
    [['--sails'], {}, true],
    [['--sails', 'false'], { SAILS: 'true' }, false],
    [[], { SAILS: '1' }, true],
    [[], { SAILS: '0' }, false],
    [[], { SAILS: '' }, false],
  ])('a switch of %j and %j is %s', (argv, env, want) => expect(read([...argv, '--home-port', 'a'], env).sails).toBe(want));

  test('every wrong setting is named with flag, variable, value and what is expected', () => {
    const refused = () => read(['--boats', '11'], { SAILS: 'maybe' });
    expect(refused).toThrow(/--boats \(BOATS\) is "11": .*10/);
    expect(refused).toThrow(/--sails \(SAILS\) is "maybe": must be true or false/);
    expect(refused).toThrow(/--home-port \(HOME_PORT\): is required: name a harbour/);
    expect(() => read([], { BOATS: 'redis://me:hunter2@harbour:6379' })).toThrow(/--boats \(BOATS\) is "redis:\/\/\*\*\*@harbour:6379"/);
    expect(refused).toThrow(expect.objectContaining({ code: 'FLOTILLA_CONFIG' }));
  });
});

test('a flag that begins with no is one like any other', () => {
  expect(read(['--home-port', 'a']).noWind).toBeUndefined();
  expect(read(['--home-port', 'a'], { CALM: 'bay' }).noWind).toBe('bay');
  expect(read(['--home-port', 'a', '--no-wind', 'cove'], { CALM: 'bay' }).noWind).toBe('cove');
});

test('the texts of a setting follow from its name and its schema', () =>
  expect(describeOptions(rows)).toEqual([
    { key: 'boats', flag: '--boats', takes: '<n>', variable: 'BOATS', byDefault: '3', meaning: 'how many' },
    { key: 'sails', flag: '--sails', takes: '[on]', variable: 'SAILS', byDefault: 'false', meaning: 'with `sails`' },
    { key: 'homePort', flag: '--home-port', takes: '<name>', variable: 'HOME_PORT', byDefault: '', meaning: 'where from' },
    { key: 'noWind', flag: '--no-wind', takes: '<places>', variable: 'CALM', byDefault: '', meaning: 'where there is none' },
  ]));

test('a path counts from where the command was typed', () => {
  expect(pathFromCaller('a/b', { INIT_CWD: '/typed/here' })).toBe('/typed/here/a/b');
  expect(pathFromCaller('/a/b', { INIT_CWD: '/typed/here' })).toBe('/a/b');
  expect(pathFromCaller('a', {})).toBe(`${process.cwd()}/a`);
});

test('a file that a flag names and that cannot be read is named with its flag', async () => {
  expect(await readOptionFile('--pull-secret', undefined)).toBeUndefined();
  expect(await readOptionFile('--pull-secret', import.meta.filename)).toContain('a file that a flag names');
  await expect(readOptionFile('--pull-secret', '/nowhere/config.json')).rejects.toMatchObject({
    code: 'FLOTILLA_CONFIG',
    message: expect.stringContaining('--pull-secret: /nowhere/config.json cannot be read'),
  });
});

test.each([
  { name: 'nothing', env: {}, want: {} },
  { name: 'no scheme', env: { HTTPS_PROXY: 'proxy.example:3128' }, want: { https: 'http://proxy.example:3128' } },
  { name: 'an address without a scheme', env: { http_proxy: '10.0.0.5:3128' }, want: { http: 'http://10.0.0.5:3128' } },
  { name: 'both spellings', env: { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1' }, want: { https: 'http://a:1' } },
  { name: 'an empty one beside the other', env: { HTTPS_PROXY: '', https_proxy: 'http://b:1' }, want: { https: 'http://b:1' } },
  { name: 'hosts without a proxy', env: { no_proxy: '.svc' }, want: { no: '.svc' } },
])('an environment with $name', ({ env, want }) => {
  expect(JSON.parse(JSON.stringify(proxySettings.parse(proxiesOf(env))))).toEqual(want);
});

test('what is no URL of a proxy says how to write one', () => {
  for (const HTTPS_PROXY of ['ftp://proxy', 'http://', 'a b']) {
    const issues = proxySettings.safeParse(proxiesOf({ HTTPS_PROXY })).error?.issues;
    expect(issues).toMatchObject([{ path: ['https'], message: expect.stringContaining('write http://') }]);
  }
});
