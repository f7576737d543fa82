import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { expect, test } from 'vitest';
import { planApply } from '../graph/plan.ts';
import { enabledCapabilities } from '../inclusion/capabilities.ts';
import { partManifests, releaseFeatureGates } from '../inclusion/inclusion.ts';
import { loadPayload, payloadHash } from './payload.ts';

const folder = readEnvironment().payloadsDir;
const profile = 'self-managed-high-availability';
const repository = 'quay.io/openshift-release-dev/ocp-release';

/** Hashes that the reference implementation computes of two payloads of real size. */
const payloads = [
  { name: 'real', image: `${repository}@sha256:88c260561bd3da2b81a5a266afba975aab43a5dc4e9312818d9c5935f7c8b906`, hash: 'DnSJlHfyglg=' },
  { name: 'next', image: `${repository}@sha256:d6ee0cd64c3d746a261b1cde3df7ffeeb1a41785a496866e271dcd974f8a5c11`, hash: 'L80h_997aE4=' },
];

function* filesOf(root: string) {
  for (const part of ['manifests', 'release-manifests'])
    for (const name of readdirSync(join(root, part))) yield { path: `${part}/${name}`, content: readFileSync(join(root, part, name)) };
}

test.for(payloads)(
  'the payload $name comes to what the reference makes of it',
  { timeout: 120_000 },
  async ({ name, image, hash }, { skip }) => {
    if (folder === undefined || !existsSync(join(folder, name))) return skip(`FLOTILLA_PAYLOADS names no folder with a payload ${name}`);
    const { manifests, warnings } = await loadPayload(filesOf(join(folder, name)), { releaseImage: image, clusterProfile: profile });
    const audience = { profile, featureSet: 'Default', majorVersion: 4 };
    const featureGates = releaseFeatureGates(manifests, audience) ?? new Set();
    const { included, excluded } = partManifests(manifests, {
      ...audience,
      featureGates,
      capabilities: enabledCapabilities({ featureGates }),
    });
    expect({ read: manifests.length, warnings, included: included.length, hash: payloadHash(included) }).toEqual({
      read: 1315,
      warnings: [],
      included: 1044,
      hash,
    });
    expect(
      Object.fromEntries(Object.entries(Object.groupBy(excluded, ({ rule }) => rule)).map(([rule, of]) => [rule, of?.length])),
    ).toEqual({
      annotations: 15,
      'feature-set': 129,
      'feature-gate': 102,
      profile: 25,
    });
    // 90 nodes and an anchor; 87 nodes, an anchor and four spacers
    expect(planApply(included, 'Initializing').nodes).toHaveLength(91);
    expect(planApply(included, 'Updating').nodes).toHaveLength(92);
  },
);
