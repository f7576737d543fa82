import type { Manifest } from '@flotilla/release';
import { expect, test } from 'vitest';
import { Wanted } from './wanted.ts';

test('an identity is told without reading the manifest, which takes long for a large one', () => {
  let reads = 0;
  const manifest: Manifest = {
    ...{ group: 'apps', version: 'v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
    ...{ file: 'release-manifests/0000_50_web_01.json', line: 1, raw: '{}', annotations: {} },
    get object() {
      reads++;
      return {};
    },
  };
  expect(new Wanted(manifest).identity).toBe('Group: "apps" Kind: "Deployment" Namespace: "shop" Name: "web"');
  expect(reads).toBe(0);
});
