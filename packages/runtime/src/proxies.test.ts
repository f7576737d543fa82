import { expect, test } from 'vitest';
import { proxiesOf, proxySettings } from './proxies.ts';

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
