import { describe, expect, test } from 'vitest';
import { listEndpoints } from './endpoint.ts';
import { parseImageReference } from './image-reference.ts';
import { parseRegistriesConf } from './registries-conf.ts';

const digest = `sha256:${'a'.repeat(64)}`;

/** Lists every asked server of the image as `scheme host/repository`, in order. */
const servers = (image: string, ...texts: string[]): string[] => {
  const rules = parseRegistriesConf(texts.map((text, i) => ({ name: `${i}.conf`, text })));
  return listEndpoints(parseImageReference(image), rules, new Set()).map((e) => `${e.scheme} ${e.host}/${e.repository}`);
};

/** A machine configuration's file for an ImageDigestMirrorSet, an ImageTagMirrorSet and a source that is never contacted. */
const rendered = `
unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]
short-name-mode = ""

[[registry]]
  prefix = ""
  location = "quay.example/openshift/release"

  [[registry.mirror]]
    location = "mirror.example:5000/ocp/release"
    pull-from-mirror = "digest-only"

  [[registry.mirror]]
    location = "tags.example/release"
    pull-from-mirror = "tag-only"

[[registry]]
  prefix = ""
  location = "registry.example/redhat"
  blocked = true

  [[registry.mirror]]
    location = "mirror.example:5000/redhat"
    insecure = true
`;

describe('configuration of an OpenShift node', () => {
  test.each<[string, string, string[]]>([
    [
      'an image by digest is looked for at the digest mirror, then at its source',
      `quay.example/openshift/release@${digest}`,
      ['https mirror.example:5000/ocp/release', 'https quay.example/openshift/release'],
    ],
    [
      'an image by tag at the tag mirror',
      'quay.example/openshift/release:4.20',
      ['https tags.example/release', 'https quay.example/openshift/release'],
    ],
    ['a blocked source is never asked, its mirror is', 'registry.example/redhat/index:v1', ['either mirror.example:5000/redhat/index']],
    ['other images are asked where they are', 'quay.example/openshift/other:1', ['https quay.example/openshift/other']],
    ['a prefix ends at a word', 'quay.example/openshift/releases:1', ['https quay.example/openshift/releases']],
  ])('%s', (_, image, want) => {
    expect(servers(image, rendered)).toEqual(want);
  });
});

describe('registries.conf', () => {
  test('mirror-by-digest-only holds for every mirror', () => {
    const text = `[[registry]]\nlocation="h.example"\nmirror-by-digest-only=true\n[[registry.mirror]]\nlocation="m.example/h/"`;
    expect(servers(`h.example/a@${digest}`, text)).toEqual(['https m.example/h/a', 'https h.example/a']);
    expect(servers('h.example/a:1', text)).toEqual(['https h.example/a']);
  });

  test('a prefix is replaced by its location, the longest prefix counts', () => {
    const text = `
[[registry]]
prefix = "h.example"
location = "cache.example/h"
[[registry]]
prefix = "h.example/team"
location = "team.example:5000"
insecure = true`;
    expect(servers('h.example/other/a:1', text)).toEqual(['https cache.example/h/other/a']);
    expect(servers('h.example/team/a:1', text)).toEqual(['either team.example:5000/a']);
  });

  test('a wildcard stands for every host below the domain', () => {
    const text = `
[[registry]]
prefix = "*.example.com"
[[registry.mirror]]
location = "mirror.test/example"
[[registry]]
location = "exact.example.com"`;
    expect(servers('a.b.example.com/team/x:1', text)).toEqual(['https mirror.test/example/team/x', 'https a.b.example.com/team/x']);
    expect(servers('exact.example.com/x:1', text)).toEqual(['https exact.example.com/x']);
    for (const image of ['example.com/x:1', 'h.test/a.example.com/x:1', 'a.example.community/x:1'])
      expect(servers(image, text)).toHaveLength(1);
  });

  test('a mirror that is itself blocked is not asked', () => {
    const text = `
[[registry]]
location = "h.example"
[[registry.mirror]]
location = "bad.example/h"
[[registry]]
location = "bad.example"
blocked = true`;
    expect(servers('h.example/a:1', text)).toEqual(['https h.example/a']);
    expect(servers('bad.example/a:1', text)).toEqual([]);
  });

  test('a later file replaces the tables of the same prefix', () => {
    const first = `[[registry]]\nlocation="h.example"\n[[registry.mirror]]\nlocation="one.example"`;
    const second = `[[registry]]\nlocation="h.example"\n[[registry.mirror]]\nlocation="two.example"`;
    expect(servers('h.example/a:1', first, 'short-name-mode="enforcing"', second)).toEqual(['https two.example/a', 'https h.example/a']);
  });

  test.each<[string, string, RegExp]>([
    ['no TOML', '[[registry', /0\.conf: is not TOML/],
    ['a table without location', '[[registry]]\nprefix="h.example"', /registry\.0\.location is needed/],
    ['a mirror without location', '[[registry]]\nlocation="h"\n[[registry.mirror]]\ninsecure=true', /registry\.0\.mirror\.0\.location/],
    ['a scheme', '[[registry]]\nlocation="https://h.example"', /registry\.0\.location must be host/],
    ['a wildcard in the middle', '[[registry]]\nprefix="a.*.example"\nlocation="x"', /registry\.0\.prefix may have a wildcard/],
    ['a wrong type', '[[registry]]\nlocation="h"\nblocked="yes"', /registry\.0\.blocked/],
  ])('%s is refused and named', (_, text, message) => {
    expect(() => parseRegistriesConf([{ name: '0.conf', text }])).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_REGISTRY_BAD_CONFIG', message: expect.stringMatching(message) }),
    );
  });
});
