import { generateKeyPairSync, sign } from 'node:crypto';
import { POD_AUDIENCE, SpokeName } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { parseKeys, verifyPodToken } from './pod-token.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const NODE = { name: 'n1', uid: 'uid-n1' };
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { privateKey: anotherKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keys = parseKeys(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }));

/** A token of the puller on n1 for an hour from now, but for these claims. */
function tokenWith(claims: object = {}, key = privateKey): string {
  const ours = {
    aud: [POD_AUDIENCE],
    exp: NOW / 1_000 + 3_600,
    sub: `system:serviceaccount:${SpokeName.namespace}:${SpokeName.nodeAccount}`,
    'kubernetes.io': { pod: { name: 'p1', uid: 'uid-p1' }, node: NODE },
  };
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const signed = `${encode({ alg: 'ES256', kid: 'one' })}.${encode({ ...ours, ...claims })}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

test('a token that the cluster has signed for a puller names pod and node', async () =>
  expect(await verifyPodToken(tokenWith(), keys, NOW)).toEqual({ pod: 'uid-p1', node: NODE }));

test('a lead whose clock is behind takes a token that is new by it', async () =>
  expect(await verifyPodToken(tokenWith({ nbf: NOW / 1_000 + 1_800 }), keys, NOW)).toEqual({ pod: 'uid-p1', node: NODE }));

test.each([
  {
    name: 'is past its life, with its node, which the cluster vouches for',
    token: tokenWith({ exp: NOW / 1_000 - 60 }),
    want: {
      refusal: expect.stringMatching(/^its token ran out at 2026-03-01T11:59:00\.000Z by the clock of the lead's node: /),
      node: NODE,
    },
  },
  {
    name: 'is for another audience',
    token: tokenWith({ aud: 'https://kubernetes.default.svc' }),
    want: { refusal: expect.stringContaining('another account, or for another audience'), node: NODE },
  },
  { name: 'has another signature', token: tokenWith({}, anotherKey), want: { refusal: expect.stringContaining('none of the keys') } },
  { name: 'has no end', token: tokenWith({ exp: undefined }), want: { refusal: expect.stringContaining('another account'), node: NODE } },
  { name: 'names no pod', token: tokenWith({ 'kubernetes.io': {} }), want: { refusal: 'its token is no token of a pod' } },
  {
    name: 'has an algorithm without a key',
    token: tokenWith().replace(/^[^.]+/, Buffer.from('{"alg":"none"}').toString('base64url')),
    want: { refusal: 'its token is no token of a pod' },
  },
  { name: 'is none', token: 'sesame', want: { refusal: 'its token is no token of a pod' } },
])('a token that $name is refused with that', async ({ token, want }) => expect(await verifyPodToken(token, keys, NOW)).toEqual(want));
