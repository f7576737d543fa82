import { expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { degradedBlocks } from './degraded.ts';
import { imageOfVersion } from './own-payload.ts';

test('needs a release, and has a default for everything else', () => {
  expect(() => readConfig([], {})).toThrow('give --payload with a folder or --image with a release image');
  expect(readConfig(['--payload', '/p'], {})).toMatchObject({
    payload: '/p',
    observe: false,
    clusterProfile: 'self-managed-high-availability',
    alwaysEnableCapabilities: [],
    degraded: 'auto',
    passMinutes: 3,
    healthPort: 0,
  });
  expect(readConfig([], { PAYLOAD: '/p', ALWAYS_ENABLE_CAPABILITIES: 'Ingress,Console', OBSERVE: 'true' })).toMatchObject({
    alwaysEnableCapabilities: ['Ingress', 'Console'],
    observe: true,
  });
});

test.each([
  { flags: ['--degraded', 'often'], says: '--degraded (DEGRADED) is "often": must be auto, blocks or reported' },
  { flags: ['--pass-minutes', '0'], says: '--pass-minutes (PASS_MINUTES) is "0": must be more than 0' },
  { flags: ['--image', ''], says: '--image (RELEASE_IMAGE) is "": is empty: give the pull spec of a release image' },
])('refuses $flags and says why', ({ flags, says }) => {
  expect(() => readConfig(['--payload', '/p', ...flags], {})).toThrow(says);
});

test.each([
  { how: 'auto', version: '4.18.9', blocks: true },
  { how: 'auto', version: '4.19.0', blocks: false },
  { how: 'auto', version: '5.0.0', blocks: false },
  { how: 'auto', version: '3.30.0', blocks: true },
  { how: 'blocks', version: '4.19.0', blocks: true },
  { how: 'reported', version: '4.1.0', blocks: false },
] as const)('a degraded operator blocks an update to $version ($how): $blocks', ({ how, version, blocks }) => {
  expect(degradedBlocks(how, version)).toBe(blocks);
});

test('calls a folder without a name as the cluster calls its version', () => {
  const metadata = { name: 'version' };
  const asked = { metadata, spec: { clusterID: '', desiredUpdate: { version: '4.1.1', image: 'asked' } } };
  expect(imageOfVersion('4.1.1', asked)).toBe('asked');
  const had = { metadata, spec: { clusterID: '' }, status: { desired: { version: '4.1.0', image: 'had' } } };
  expect(imageOfVersion('4.1.0', had)).toBe('had');
  expect(imageOfVersion('4.1.2', had)).toBe('release.invalid/release:4.1.2');
  expect(imageOfVersion('4.1.2', undefined)).toBe('release.invalid/release:4.1.2');
});
