import { expect, test } from 'vitest';
import { billOf, debianComponents, npmComponents } from './sbom.ts';

const lock = JSON.stringify({
  packages: { 'node_modules/@a/b': { version: '1.2.3', integrity: `sha512-${Buffer.alloc(64, 1).toString('base64')}`, license: 'MIT' } },
});

test('an npm package has its package URL, the hash of the lock file and its licence', () => {
  expect(npmComponents(['node_modules/@a/b'], lock)).toMatchObject([
    {
      purl: 'pkg:npm/%40a/b@1.2.3',
      hashes: [{ alg: 'SHA-512', content: '01'.repeat(64) }],
      licenses: [{ expression: 'MIT' }],
    },
  ]);
});

test('a package that the lock file does not know is no part of a bill', () => {
  expect(() => npmComponents(['node_modules/c'], lock)).toThrow(/no node_modules\/c/);
});

test('signs in the names of Debian packages and versions are escaped', () => {
  const [component] = debianComponents([{ name: 'libstdc++6', version: '1:2~3', sha256: '0'.repeat(64) }], 'arm64');
  expect(component?.purl).toBe('pkg:deb/debian/libstdc%2B%2B6@1%3A2~3?arch=arm64&distro=debian-12');
});

test('the same parts in another order give the same bill', () => {
  const parts = debianComponents(
    ['a', 'b'].map((name) => ({ name, version: '1', sha256: '0'.repeat(64) })),
    'amd64',
  );
  const subject = { name: 'hub', version: '1' };
  expect(billOf(subject, parts)).toEqual(billOf(subject, parts.toReversed()));
});
