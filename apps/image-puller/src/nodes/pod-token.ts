import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { POD_AUDIENCE, SpokeName } from '@flotilla/api/ran';
import { z } from 'zod';

const named = z.object({ name: z.string().max(253), uid: z.string().max(64) });
const Header = z.object({ alg: z.enum(['RS256', 'ES256', 'ES384', 'ES512', 'RS384', 'RS512']), kid: z.string().optional() });
const Claims = z.object({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  sub: z.string(),
  'kubernetes.io': z.object({ pod: named, node: named.optional() }),
});
const Keys = z.object({ keys: z.array(z.looseObject({ kid: z.string().optional(), kty: z.string() })).max(100) });

/** A pod as its cluster vouches for it. Clusters before Kubernetes 1.30 name no node. */
export interface PodIdentity {
  readonly pod: string;
  readonly node: { readonly name: string; readonly uid: string } | undefined;
}

/** Why a token is not taken, and the node for which the cluster has signed it, if it has. */
export interface RefusedToken {
  readonly refusal: string;
  readonly node?: PodIdentity['node'];
}

/** Key that the cluster signs tokens with. */
interface SigningKey {
  readonly kid: string | undefined;
  readonly jwk: JsonWebKey;
}

/** Parses the cluster's key set. */
export const parseKeys = (text: string): SigningKey[] =>
  Keys.parse(JSON.parse(text)).keys.map((key) => ({ kid: key.kid, jwk: key as JsonWebKey }));

/**
 * Verifies a token of a node's puller against the cluster's keys.
 * @param nowMs milliseconds since the epoch
 */
export function verifyPodToken(token: string, keys: readonly SigningKey[], nowMs: number): PodIdentity | RefusedToken {
  try {
    const [head = '', body = '', signature = '', ...rest] = token.split('.');
    if (rest.length > 0) return NO_TOKEN;
    const { alg, kid } = Header.parse(decode(head));
    const data = Buffer.from(`${head}.${body}`);
    const isSigned = keys
      .filter((key) => kid === undefined || key.kid === kid)
      .some(({ jwk }) => isSignedBy(jwk, { alg, data, signature: Buffer.from(signature, 'base64url') }));
    if (!isSigned) return { refusal: 'its token is signed by none of the keys that the cluster publishes' };
    const { sub, aud, exp, 'kubernetes.io': of } = Claims.parse(decode(body));
    const { pod, node } = of;
    const account = `system:serviceaccount:${SpokeName.namespace}:${SpokeName.nodeAccount}`;
    if (sub !== account || ![aud].flat().includes(POD_AUDIENCE))
      return { refusal: 'its token is of another account, or for another audience', node };
    if (exp * 1_000 <= nowMs) return { refusal: ranOut(exp), node };
    return { pod: pod.uid, node };
  } catch {
    return NO_TOKEN;
  }
}

const NO_TOKEN: RefusedToken = { refusal: 'its token is no token of a pod' };

/** The kubelet renews a token long before its end. */
const ranOut = (exp: number): string =>
  `its token ran out at ${new Date(exp * 1_000).toISOString()} by the clock of the lead's node: compare the clocks of both, and see that its kubelet reaches the API server`;

const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));

function isSignedBy(jwk: JsonWebKey, { alg, data, signature }: { alg: string; data: Buffer; signature: Buffer }): boolean {
  const isElliptic = alg.startsWith('ES');
  if (jwk.kty !== (isElliptic ? 'EC' : 'RSA')) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return verify(`sha${alg.slice(2)}`, data, isElliptic ? { key, dsaEncoding: 'ieee-p1363' } : key, signature);
}
