import { expect, test } from 'vitest';
import { MAX_REDIRECTS, redirectOf } from './answer.ts';

const from = 'https://a.example/x?y=1';

test.each([
  { name: 'another path', location: '/there', want: 'https://a.example/there', drops: false },
  { name: 'another query', location: '?z', want: 'https://a.example/x?z', drops: false },
  { name: 'another host', location: 'https://b.example/', want: 'https://b.example/', drops: true },
  { name: 'another port', location: 'https://a.example:444/', want: 'https://a.example:444/', drops: true },
  { name: 'a host without a scheme', location: '//b.example/', want: 'https://b.example/', drops: true },
  { name: 'an address with a password', location: 'https://u:p@a.example/', want: 'https://a.example/', drops: false },
  { name: 'https, from http', url: 'http://a.example/', location: 'https://a.example/', want: 'https://a.example/', drops: true },
  { name: 'http, from http', url: 'http://a.example/', location: 'http://b.example/', want: 'http://b.example/', drops: true },
])('follows to $name', ({ url = from, location, want, drops }) => {
  const verdict = redirectOf({ method: 'GET', url: new URL(url), status: 302, location, followed: 0 });
  expect(verdict).toMatchObject({ kind: 'follow', dropsCredentials: drops });
  expect(verdict.kind === 'follow' && verdict.url.href).toBe(want);
});

test.each([
  { location: 'http://b.example:9000/', kind: 'follow' },
  { location: 'http://b.example/', kind: 'refused' },
  { location: 'ftp://b.example:9000/', kind: 'refused' },
])('a server that may be read over plain HTTP: $location is $kind', ({ location, kind }) => {
  const allowsPlain = (host: string) => host === 'b.example:9000';
  const verdict = redirectOf({ method: 'GET', url: new URL(from), status: 307, location, followed: 0, allowsPlain });
  expect(verdict).toMatchObject(kind === 'follow' ? { kind, dropsCredentials: true } : { kind });
});

test.each([
  { name: 'http', location: 'http://a.example/secret', why: 'redirected to http://a.example, which is not https' },
  { name: 'a file', location: 'file:///etc/passwd', why: 'redirected to file://, which is not https' },
  { name: 'another protocol', location: 'ftp://u:p@b.example/', why: 'redirected to ftp://b.example, which is not https' },
  { name: 'what is no URL', location: 'https://', why: 'redirected to what is no URL' },
  { name: 'one more than are followed', location: '/', followed: MAX_REDIRECTS, why: 'more than 5 redirects' },
])('refuses $name', ({ location, followed = 0, why }) => {
  const verdict = redirectOf({ method: 'GET', url: new URL(from), status: 307, location, followed });
  expect(verdict).toEqual({ kind: 'refused', why: expect.stringContaining(why) });
  expect(JSON.stringify(verdict)).not.toMatch(/secret|u:p/);
});

test.each([
  { name: 'an answer', status: 200 },
  { name: 'an answer of a cache', status: 304 },
  { name: 'a redirect to nowhere', status: 302, location: undefined },
  { name: 'the redirect of a write', status: 307, method: 'POST' },
  { name: 'a redirect where none is followed', status: 302, most: 0 },
])('takes $name for the answer', ({ status, method = 'GET', most, ...rest }) => {
  const location = 'location' in rest ? rest.location : '/there';
  const question = { method, url: new URL(from), status, location, followed: 0, ...(most !== undefined && { most }) };
  expect(redirectOf(question)).toEqual({ kind: 'answer' });
});
