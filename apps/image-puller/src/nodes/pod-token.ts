import { POD_AUDIENCE, SpokeName } from '@flotilla/api/ran';
import { createLocalJWKSet, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';

const named = z.object({ name: z.string().max(253), uid: z.string().max(64) });
const Claims = z.object({ 'kubernetes.io': z.object({ pod: named, node: named.optional() }) });

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

/** Parses the cluster's key set. */
export const parseKeys = (text: string): JWTVerifyGetKey => createLocalJWKSet(JSON.parse(text));

/** Signatures that Kubernetes makes. */
const algorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'];

/**
 * Verifies a token of a node's puller against the cluster's keys.
 * @param nowMs milliseconds since the epoch
 */
export async function verifyPodToken(token: string, keys: JWTVerifyGetKey, nowMs: number): Promise<PodIdentity | RefusedToken> {
  try {
    // By the clock of a node that is behind, a new token is from the future.
    const { nbf = 0 } = decodeJwt(token);
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      subject: `system:serviceaccount:${SpokeName.namespace}:${SpokeName.nodeAccount}`,
      audience: POD_AUDIENCE,
      requiredClaims: ['exp'],
      currentDate: new Date(Math.max(nowMs, nbf * 1_000)),
    });
    const { pod, node } = Claims.parse(payload)['kubernetes.io'];
    return { pod: pod.uid, node };
  } catch (error) {
    return refusedFor(error);
  }
}

function refusedFor(error: unknown): RefusedToken {
  if (error instanceof errors.JWTExpired) return { refusal: ranOut(Number(error.payload.exp)), node: nodeOf(error.payload) };
  if (error instanceof errors.JWTClaimValidationFailed)
    return { refusal: 'its token is of another account, or for another audience', node: nodeOf(error.payload) };
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey)
    return { refusal: 'its token is signed by none of the keys that the cluster publishes' };
  return { refusal: 'its token is no token of a pod' };
}

/** The node that the cluster has signed: a token that is refused for its claims has its signature. */
const nodeOf = (payload: unknown): PodIdentity['node'] => Claims.safeParse(payload).data?.['kubernetes.io'].node;

/** The kubelet renews a token long before its end. */
const ranOut = (exp: number): string =>
  `its token ran out at ${new Date(exp * 1_000).toISOString()} by the clock of the lead's node: compare the clocks of both, and see that its kubelet reaches the API server`;
