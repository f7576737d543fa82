import { defineTarget } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { signatureContent, signed, storeOf, testKey } from '../../testing/signature-builders.ts';
import { ReleaseErrorCode } from '../errors.ts';
import { readKeyring, readVerificationConfig } from './verification-config.ts';
import { verifyRelease } from './verify-release.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const key = await testKey();
const armor = key.publicKey.armor();
const good = Buffer.from(await signed(signatureContent(digest), key));
const keyrings = [await readKeyring('verifier-public-key-a', Buffer.from(armor))];
const otherDigest = `sha256:${'b'.repeat(64)}`;
const otherKeyrings = [await readKeyring('verifier-public-key-b', Buffer.from((await testKey()).publicKey.armor()))];
const { signal } = new AbortController();
const annotations = { 'release.openshift.io/verification-config-map': '' };

const targets = [
  defineTarget('signatures of releases', {
    make: (random) =>
      random.list(4, () =>
        random.pick([
          () => good,
          () => random.mutateBytes(good),
          () => random.mutateBytes(good),
          () => Buffer.from(random.text(400)),
          () => good.subarray(0, random.below(good.length)),
        ])(),
      ),
    run: async (signatures) => {
      const verify = (of: string, by: typeof keyrings) =>
        verifyRelease(of, { keyrings: by, stages: [{ stores: [storeOf('store', signatures)] }], now: new Date(), signal });
      // Nothing that is made of a signature vouches for another release, or for anybody else.
      await expect(verify(otherDigest, keyrings)).rejects.toMatchObject({ code: ReleaseErrorCode.unverified });
      await expect(verify(digest, otherKeyrings)).rejects.toMatchObject({ code: ReleaseErrorCode.unverified });
      if (signatures.some((each) => each.equals(good))) expect((await verify(digest, keyrings)).signatures).toHaveLength(1);
      const { signatures: accepted } = await verify(digest, keyrings);
      expect(accepted).toHaveLength(1);
      expect(signatures.some((each) => each.equals(accepted[0] ?? Buffer.alloc(0)))).toBe(true);
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
      if (!config) throw new Error('the ConfigMap is annotated');
      const keysOf = (prefix: string) => Object.keys(object.data).filter((key) => key.startsWith(prefix));
      expect(config.keyrings.map(({ name }) => name).toSorted()).toEqual(keysOf('verifier-public-key-').toSorted());
      expect(config.stores.map(({ name }) => name).toSorted()).toEqual(keysOf('store-').toSorted());
      for (const { url } of config.stores) expect(['http:', 'https:', 'file:']).toContain(url.protocol);
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
