import { describe, expect, test } from 'vitest';
import { credentialProblem, findCredential, parseDockerConfig } from './credentials.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('findCredential', () => {
  const config = parseDockerConfig(
    JSON.stringify({
      auths: {
        'registry.example': { auth: base64('all:1') },
        'registry.example/team': { username: 'team', password: '2' },
        'https://index.docker.io/v1/': { auth: base64('hub:with:colon') },
        'token.example': { identitytoken: 'refresh' },
        'empty.example': {},
      },
    }),
  );
  test.each([
    { name: 'takes the host entry', host: 'registry.example', repository: 'other/app', want: { username: 'all', password: '1' } },
    { name: 'prefers the longest path', host: 'registry.example', repository: 'team/app', want: { username: 'team', password: '2' } },
    {
      name: 'matches whole path words only',
      host: 'registry.example',
      repository: 'teammate/app',
      want: { username: 'all', password: '1' },
    },
    {
      name: 'knows the old key of Docker Hub',
      host: 'docker.io',
      repository: 'library/redis',
      want: { username: 'hub', password: 'with:colon' },
    },
    {
      name: 'reads an identity token',
      host: 'token.example',
      repository: 'a',
      want: { username: '', password: '', identityToken: 'refresh' },
    },
    { name: 'ignores an empty entry', host: 'empty.example', repository: 'a', want: undefined },
    { name: 'has nothing for a stranger', host: 'evilregistry.example', repository: 'team/app', want: undefined },
  ])('$name', ({ host, repository, want }) => {
    expect(findCredential(config, host, repository)).toEqual(want);
  });

  describe('patterns', () => {
    const patterns = parseDockerConfig(
      JSON.stringify({
        auths: {
          '*.example.com': { username: 'any', password: '' },
          '*.example.com/team': { username: 'team', password: '' },
          'https://*.example.com:5000': { username: 'port', password: '' },
          'exact.example.com': { username: 'exact', password: '' },
          'r?[0-9].example.org': { username: 'class', password: '' },
          'nothing.example.net': null,
        },
        credHelpers: null,
      }),
    );
    test.each([
      ['a label', 'a.example.com', 'x', 'any'],
      ['a path below the pattern', 'a.example.com', 'team/x', 'team'],
      ['whole words of the path only', 'a.example.com', 'teammate/x', 'any'],
      ['the port', 'a.example.com:5000', 'x', 'port'],
      ['no other port', 'a.example.com:5001', 'x', undefined],
      ['one label, not two', 'a.b.example.com', 'x', undefined],
      ['not the domain itself', 'example.com', 'x', undefined],
      ['the exact host first', 'exact.example.com', 'team/x', 'exact'],
      ['a question mark and a class', 'ra7.example.org', 'x', 'class'],
      ['outside the class', 'rab.example.org', 'x', undefined],
      ['an entry that is null', 'nothing.example.net', 'x', undefined],
    ])('%s', (_, host, repository, username) => {
      expect(findCredential(patterns, host, repository)?.username).toBe(username);
    });

    test('a pattern made to be slow is not', { timeout: 2_000 }, () => {
      const key = `${'*a'.repeat(2_000)}.example.com`;
      const config = parseDockerConfig(JSON.stringify({ auths: { [key]: { username: 'u', password: 'p' } } }));
      expect(findCredential(config, `${'a'.repeat(5_000)}b.example.com`, 'x')).toBeUndefined();
    });
  });

  test.each(['{"auths":null}', '{}', '{"auths":{}}'])('%s is a secret without credentials', (text) => {
    expect(parseDockerConfig(text)).toEqual({ auths: {} });
  });

  test('a placeholder is no credential, and only its key is told', () => {
    const placeholder = parseDockerConfig(
      JSON.stringify({ auths: { 'a.b': { auth: base64('hunter2') }, 'c.d': { auth: base64('u:p') } } }),
    );
    expect(findCredential(placeholder, 'a.b', 'c')).toBeUndefined();
    expect(credentialProblem(placeholder, 'a.b')).toBe('the pull secret\'s auth for "a.b", which is not base64 of user:password');
    expect(credentialProblem(placeholder, 'c.d')).toBeUndefined();
  });

  test('never repeats the secret in an error', () => {
    for (const text of ['{"auths": hunter2', '{"auths":{"a":{"auth":{"x":"hunter2"}}}}']) {
      expect(() => parseDockerConfig(text)).toThrow(
        expect.objectContaining({ code: 'FLOTILLA_REGISTRY_BAD_CREDENTIALS', message: expect.not.stringContaining('hunter2') }),
      );
    }
  });
});
