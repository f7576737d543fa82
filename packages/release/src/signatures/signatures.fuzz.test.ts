import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { payloadManifest } from '../payload/payload-fixture.ts';
import { readKeyring } from './keyring.ts';
import { signatureContent, signed, storeOf, testKey } from './signature-builders.ts';
import { readVerificationConfig } from './verification-config.ts';
import { verifyRelease } from './verify-release.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const key = await testKey();
const armor = key.publicKey.armor();
const good = Buffer.from(await signed(signatureContent(digest), key));
const keyrings = [await readKeyring('verifier-public-key-a', Buffer.from(armor))];
const { signal } = new AbortController();
const annotations = { 'release.openshift.io/verification-config-map': '' };

const targets = [
  defineTarget('signatures of releases', {
    make: (random) =>
      random.list(4, () =>
        random.pick([
          () => random.mutateBytes(good),
          () => Buffer.from(random.text(400)),
          () => good.subarray(0, random.below(good.length)),
        ])(),
      ),
    run: async (signatures) => {
      const { signatures: accepted } = await verifyRelease(digest, {
        keyrings,
        stages: [{ stores: [storeOf('store', signatures)] }],
        now: new Date(),
        signal,
      });
      return accepted.length;
    },
  }),
  defineTarget('keys and stores of a payload', {
    make: (random) => {
      // Longer manifests in odd syntax are refused before they get here.
      const entries = random.list(4, (index) => [
        random.pick([`verifier-public-key-${index}`, `store-${index}`, random.text(10)]).slice(0, 1_000),
        random
          .pick([() => random.mutateText(armor), () => random.mutateText('https://store.example/a'), () => random.text(100)])()
          .slice(0, 6_000),
      ]);
      return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'keys', annotations }, data: Object.fromEntries(entries) };
    },
    run: async (object) => {
      const config = await readVerificationConfig([payloadManifest('release-manifests/keys.yaml', object)]);
      return config?.stores.map(({ url }) => url.href);
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
