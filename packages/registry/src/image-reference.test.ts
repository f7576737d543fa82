import { describe, expect, test } from 'vitest';
import { formatImageReference, isImageName, parseImageReference } from './image-reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('parseImageReference', () => {
  test.each([
    { text: 'registry.example/team/app:1.0', want: { host: 'registry.example', repository: 'team/app', tag: '1.0' } },
    { text: 'registry.example/team/app', want: { host: 'registry.example', repository: 'team/app', tag: 'latest' } },
    { text: `hub:5000/a/b@${digest}`, want: { host: 'hub:5000', repository: 'a/b', digest } },
    { text: `localhost/app:x@${digest}`, want: { host: 'localhost', repository: 'app', tag: 'x', digest } },
    { text: '[::1]:5000/app', want: { host: '[::1]:5000', repository: 'app', tag: 'latest' } },
    { text: 'docker.io/redis', want: { host: 'docker.io', repository: 'library/redis', tag: 'latest' } },
    { text: ' 127.0.0.1:5000/a__b/c-d.e \n', want: { host: '127.0.0.1:5000', repository: 'a__b/c-d.e', tag: 'latest' } },
  ])('reads $text', ({ text, want }) => {
    const parsed = parseImageReference(text);
    expect(parsed).toEqual(want);
    expect(parseImageReference(formatImageReference(parsed))).toEqual(want);
  });

  test('completes a repository of one word on Docker Hub alone, and refuses a name without a host', () => {
    expect(parseImageReference('docker.io/redis:7')).toEqual({ host: 'docker.io', repository: 'library/redis', tag: '7' });
    expect(parseImageReference('registry.example/redis:7')).toMatchObject({ repository: 'redis' });
    expect(() => parseImageReference('redis:7')).toThrow(/"redis:7": names no registry/);
  });

  test.each([
    { name: 'an empty text', text: '  ', message: /is empty/ },
    { name: 'a URL', text: 'https://registry.example/a', message: /URL scheme/ },
    { name: 'upper case', text: 'registry.example/Team/app', message: /lower-case/ },
    { name: 'a short digest', text: 'registry.example/a@sha256:abc', message: /digest/ },
    { name: 'two digests', text: `registry.example/a@${digest}@${digest}`, message: /more than one "@"/ },
    { name: 'a bad tag', text: 'registry.example/a:b$', message: /tag/ },
    { name: 'path tricks', text: 'registry.example/../etc', message: /repository/ },
    { name: 'a huge text', text: `registry.example/${'a'.repeat(10_000)}`, message: /longer than 255/ },
    { name: 'a bad port', text: 'registry.example:port/a', message: /registry host/ },
  ])('refuses $name and says the fix', ({ text, message }) => {
    expect(() => parseImageReference(text)).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_REGISTRY_BAD_REFERENCE', message: expect.stringMatching(message) }),
    );
  });
});

test.each([
  ['redis', true],
  ['library/redis:7', true],
  ['registry.example/team/app', true],
  ['localhost:5000/app:1.0', true],
  ['[::1]:5000/app', true],
  [`registry.example/app:1@${digest}`, true],
  [`registry.example/app@sha512:${'a'.repeat(128)}`, true],
  ['', false],
  ['oci://registry.example/app', false],
  ['docker:registry.example/app', false],
  ['registry.example/Team/app', false],
  ['registry.example/app:b$', false],
  ['registry.example/app@sha256:abc', false],
  [`registry.example/app@${digest}@${digest}`, false],
  ['registry.example/app 1', false],
  ['registry.example/app\n:1', false],
  [`registry.example/${'a/'.repeat(600)}a`, false],
])('%s is a name that a runtime takes: %s', (text, isName) => {
  expect(isImageName(text)).toBe(isName);
});
