import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { readImageCare } from './space.ts';

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kubelet-config-'));
});
afterAll(() => rm(dir, { recursive: true }));

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

test.each<[string, string | undefined, string | undefined, number, boolean]>([
  ['YAML', `${head}imageGCHighThresholdPercent: 70\n`, undefined, 70, false],
  ['JSON', '{"kind":"KubeletConfiguration","imageGCHighThresholdPercent":60}', '90', 60, false],
  ['a file without it', head, '90', 90, false],
  ['null', `${head}imageGCHighThresholdPercent: null\n`, undefined, 85, false],
  ['0, which the kubelet takes for unset', `${head}imageGCHighThresholdPercent: 0\n`, undefined, 85, false],
  ['no such file', undefined, '75', 75, true],
  ['a file of another kind', 'kind: ConfigMap\nimageGCHighThresholdPercent: 70\n', undefined, 85, true],
  ['a percentage that is none', `${head}imageGCHighThresholdPercent: 700\n`, undefined, 85, true],
  ['no YAML', `${head}x: [`, undefined, 85, true],
  ['a file without end', `${head}${'#'.repeat(300_000)}`, undefined, 85, true],
])('%s', async (_, text, variable, want, warns) => {
  const path = join(dir, 'config.yaml');
  await rm(path, { force: true });
  if (text !== undefined) await writeFile(path, text);
  const lines: string[] = [];
  const logger = createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void lines.push(line) } });
  const config = readConfig({ KUBELET_CONFIG_PATH: path, IMAGE_GC_HIGH_THRESHOLD_PERCENT: variable }, []);
  expect((await readImageCare(config, logger)).gcThresholdPercent).toBe(want);
  expect(lines.length > 0).toBe(warns);
});

test('without a file the variable holds, else 85', async () => {
  const logger = createLogger({ name: 'test', level: 'silent', destination: { write: () => undefined } });
  expect(await readImageCare(readConfig({}, []), logger)).toEqual({ gcThresholdPercent: 85, stated: undefined });
  expect(await readImageCare(readConfig({ IMAGE_GC_HIGH_THRESHOLD_PERCENT: '80' }, []), logger)).toEqual({
    gcThresholdPercent: 80,
    stated: undefined,
  });
});

test('what else ends the use of images is given as it is written', async () => {
  const path = join(dir, 'care.yaml');
  await writeFile(path, `${head}imageMaximumGCAge: 12h\nimagePullCredentialsVerificationPolicy: AlwaysVerify\n`);
  const logger = createLogger({ name: 'test', level: 'silent', destination: { write: () => undefined } });
  const { stated } = await readImageCare(readConfig({ KUBELET_CONFIG_PATH: path }, []), logger);
  expect(stated).toEqual({ maximumAge: '12h', credentials: 'AlwaysVerify' });
});
