import type { IncomingHttpHeaders } from 'node:http';
import { expect, test } from 'vitest';
import { refusalOf } from './guard.ts';

const host = '127.0.0.1:4711';
const origins = [`http://${host}`, 'http://localhost:4711'];
const ask = ({ method = 'GET', route = '/api/why', headers }: { method?: string; route?: string; headers: IncomingHttpHeaders }) =>
  refusalOf({ method, route, headers }, origins)?.status;

test.each([
  { name: 'the page, typed', route: '/', headers: { host, 'sec-fetch-site': 'none' }, want: undefined },
  { name: 'the page under localhost', route: '/', headers: { host: 'localhost:4711' }, want: undefined },
  {
    name: 'the page by a link from elsewhere',
    route: '/spokes/a',
    headers: { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    want: undefined,
  },
  {
    name: 'the page in a frame',
    route: '/',
    headers: { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    want: 403,
  },
  { name: 'its script, from elsewhere', route: '/assets/a.js', headers: { host, 'sec-fetch-site': 'cross-site' }, want: 403 },
  { name: 'its script, from another port', route: '/assets/a.js', headers: { host, 'sec-fetch-site': 'same-site' }, want: 403 },
  { name: 'an answer to a program', headers: { host }, want: undefined },
  {
    name: 'an answer to the page',
    headers: { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    want: undefined,
  },
  { name: 'an answer, typed', headers: { host, 'sec-fetch-site': 'none' }, want: 403 },
  { name: 'a name that leads here', route: '/', headers: { host: 'evil.test:4711' }, want: 421 },
  { name: 'a host without the port', route: '/', headers: { host: '127.0.0.1' }, want: 421 },
  { name: 'no host', route: '/', headers: {}, want: 421 },
  { name: 'another origin', method: 'POST', headers: { host, origin: 'http://127.0.0.1:4712' }, want: 403 },
  { name: 'the origin of a file', method: 'POST', headers: { host, origin: 'null' }, want: 403 },
])('$name is answered with $want', ({ want, method, route, headers }) => expect(ask({ method, route, headers })).toBe(want));

test('behind TLS the origin is that of the address, whatever the proxy in front speaks', () => {
  const shared = (headers: IncomingHttpHeaders) => refusalOf({ method: 'POST', route: '/api/actions', headers }, ['https://c.example.com']);
  expect(shared({ host: 'c.example.com', origin: 'https://c.example.com' })).toBeUndefined();
  expect(shared({ host: 'c.example.com', origin: 'http://c.example.com' })?.status).toBe(403);
  expect(shared({ host: '10.0.0.7:8443' })?.status).toBe(421);
});
