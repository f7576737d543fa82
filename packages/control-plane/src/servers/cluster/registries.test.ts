import { expect, test } from 'vitest';
import { hostsToml, placeMirror, registriesConf } from './registries.ts';

const plain = placeMirror({ host: 'registry.test', endpoint: (gateway) => `http://${gateway}:5000` }, '10.79.1.1');
const secure = placeMirror(
  { host: 'quay.test/org', endpoint: 'https://mirror.test:8443', certificateAuthority: 'PEM', digestOnly: true },
  '',
);

test('containerd gets the place, and the authority where there is one', () => {
  expect(hostsToml(plain, '/ca')).toBe(
    'server = "http://10.79.1.1:5000"\n[host."http://10.79.1.1:5000"]\n  capabilities = ["pull", "resolve"]\n',
  );
  expect(hostsToml(secure, '/ca')).toContain('\n  ca = "/ca"\n');
  expect(hostsToml({ ...secure, insecure: true }, '/ca')).toContain('\n  skip_verify = true\n');
});

test('CRI-O gets a mirror per registry, insecure where it is plain HTTP', () => {
  const [head, first, second] = registriesConf([plain, secure]).split('[[registry]]');
  expect(head).toContain('unqualified-search-registries =');
  expect(first).toMatch(/location = "registry.test"\n\s+\[\[registry.mirror\]\]\n\s+location = "10.79.1.1:5000"\n\s+insecure = true/);
  expect(first).not.toContain('mirror-by-digest-only');
  expect(second).toMatch(/location = "quay.test\/org"\n\s+mirror-by-digest-only = true\n/);
  expect(second).toContain('location = "mirror.test:8443"');
  expect(second).not.toContain('insecure');
});

test('an endpoint that is no URL is refused', () => {
  expect(() => placeMirror({ host: 'a.test', endpoint: 'nowhere' }, '')).toThrow('Invalid URL');
});
