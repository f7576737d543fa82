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

/** Key that the cluster signs tokens with. */
interface SigningKey {
  readonly kid: string | undefined;
  readonly jwk: JsonWebKey;
}

/** Parses the cluster's key set. */
export const parseKeys = (text: string): SigningKey[] =>
  Keys.parse(JSON.parse(text)).keys.map((key) => ({ kid: key.kid, jwk: key as JsonWebKey }));

/**
 * Verifies a token of a node's puller against the cluster's keys; undefined for any other token.
 * @param nowMs milliseconds since the epoch
 */
export function verifyPodToken(token: string, keys: readonly SigningKey[], nowMs: number): PodIdentity | undefined {
  try {
    const [head = '', body = '', signature = '', ...rest] = token.split('.');
    if (rest.length > 0) return undefined;
    const { alg, kid } = Header.parse(decode(head));
    const data = Buffer.from(`${head}.${body}`);
    const isSigned = keys
      .filter((key) => kid === undefined || key.kid === kid)
      .some(({ jwk }) => isSignedBy(jwk, { alg, data, signature: Buffer.from(signature, 'base64url') }));
    const claims = Claims.parse(decode(body));
    const account = `system:serviceaccount:${SpokeName.namespace}:${SpokeName.nodeAccount}`;
    const isOurs = claims.sub === account && [claims.aud].flat().includes(POD_AUDIENCE);
    if (!isSigned || !isOurs || claims.exp * 1_000 <= nowMs) return undefined;
    const { pod, node } = claims['kubernetes.io'];
    return { pod: pod.uid, node };
  } catch {
    return undefined;
  }
}

const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));

function isSignedBy(jwk: JsonWebKey, { alg, data, signature }: { alg: string; data: Buffer; signature: Buffer }): boolean {
  const isElliptic = alg.startsWith('ES');
  if (jwk.kty !== (isElliptic ? 'EC' : 'RSA')) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return verify(`sha${alg.slice(2)}`, data, isElliptic ? { key, dsaEncoding: 'ieee-p1363' } : key, signature);
}
