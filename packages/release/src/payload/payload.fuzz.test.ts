import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { payloadFile, payloadFiles, payloadObject } from '../../testing/payload-fixture.ts';
import { INCLUDED } from '../../testing/release-builders.ts';
import { planApply } from '../graph/plan.ts';
import { enabledCapabilities } from '../inclusion/capabilities.ts';
import { partManifests } from '../inclusion/inclusion.ts';
import { canonicalJson, resolvePlain } from '../yaml/canonical-json.ts';
import { readManifestYaml } from '../yaml/manifest-yaml.ts';
import type { PayloadFile } from './layout.ts';
import { loadPayload, payloadHash } from './payload.ts';

const annotations = {
  ...INCLUDED,
  'release.openshift.io/feature-set': 'Default,OKD',
  'release.openshift.io/feature-gate': 'A,-B',
  'release.openshift.io/major-version': '4,-5',
  'capability.openshift.io/name': 'Console+Build',
};

function textOf(random: RandomValues, value: unknown): string {
  if (random.chance(0.3)) return JSON.stringify(value);
  const options = {
    lineWidth: random.pick([20, 80, 0]),
    defaultStringType: random.pick(['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE'] as const),
  };
  return stringify(value, { ...options, version: '1.1', indentSeq: random.chance(0.5), aliasDuplicateObjects: random.chance(0.1) });
}

function payload(random: RandomValues): PayloadFile[] {
  const odd = (): PayloadFile => {
    const object = payloadObject(random.pick(['Namespace', 'Job', 'FeatureGate']), random.text(10), {
      annotations,
      apiVersion: random.pick(['v1', 'batch/v1']),
    });
    const text = random.list(3, () => textOf(random, random.chance(0.4) ? random.mutate(object) : object)).join('\n---\n');
    const folder = random.pick(['manifests', 'release-manifests', 'release-manifests', random.text(8)]);
    const path = `${folder}/0000_${random.below(99)}_${random.pick(['a', 'b-c', random.text(6)])}_x.${random.pick(['yaml', 'json'])}`;
    return payloadFile(path, random.chance(0.3) ? random.mutateText(text) : text);
  };
  const files = [...payloadFiles(), ...random.list(6, odd)];
  return files.map((file) => (random.chance(0.05) ? { ...file, content: random.mutateBytes(Buffer.from(file.content)) } : file));
}

/** Lines that a reader has to tell apart. */
const hostileLines = (random: RandomValues): string =>
  random
    .list(
      40,
      () =>
        ' '.repeat(random.below(6)) +
        random.pick([
          'a: 1',
          'b:',
          '- c',
          '-',
          '- - d',
          '"e',
          "f'",
          '|',
          'g: >-',
          '[h, {i: j}',
          '# k',
          '---',
          'l: &m n',
          '*m',
          '\t',
          '? o',
          random.text(8),
        ]),
    )
    .join('\n');

const PLAIN = { tag: 'tag:yaml.org,2002:plain', default: true, test: /^/, resolve: resolvePlain } as const;
const digits = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

const targets = [
  defineTarget('release payloads', {
    make: payload,
    run: async (files) => {
      const { manifests } = await loadPayload(files, { releaseImage: 'host/release:1', clusterProfile: 'self-managed-high-availability' });
      const featureGates = new Set(['A']);
      const capabilities = enabledCapabilities({ featureGates });
      const { included } = partManifests(manifests, {
        profile: 'self-managed-high-availability',
        featureSet: '',
        featureGates,
        majorVersion: 4,
        capabilities,
      });
      return [payloadHash(included), planApply(included, 'Updating'), planApply(included, 'Reconciling', 3)];
    },
  }),
  defineTarget('YAML of payloads that is hostile', {
    make: (random) =>
      random.pick([
        () => hostileLines(random),
        () => random.pick(['- ', 'a: ', '[', '{"a":', '"', '\n', ' ', ':', '#', '|\n']).repeat(random.below(30_000)),
        () => random.list(120, (i) => `k${i % 50}: &a${i} [*a${random.below(i + 1)}, ${random.text(5)}]`).join('\n'),
        () => random.text(2_000),
      ])(),
    run: (text) =>
      loadPayload([...payloadFiles(), payloadFile('release-manifests/a.yaml', text)], { releaseImage: 'a', clusterProfile: 'b' }),
  }),
  defineTarget('YAML of manifests as another reader reads it', {
    make: (random) => ({ value: random.json(5), seed: random.below(1e9), random }),
    run: ({ value, random }) => {
      const text = stringify({ value }, { version: '1.1', lineWidth: random.pick([20, 80, 0]), aliasDuplicateObjects: false });
      // Not against the value: the writer begins some folded texts with a blank line, which is part of what they say.
      const read = (): unknown => JSON.parse(canonicalJson(readManifestYaml(text).value));
      let want: unknown;
      try {
        want = parse(text, { uniqueKeys: false, merge: true, customTags: (tags) => [PLAIN, ...tags] });
      } catch {
        expect(read).toThrow();
        return;
      }
      expect(read()).toEqual(JSON.parse(JSON.stringify(want, digits)));
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
