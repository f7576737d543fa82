import { z } from 'zod';

/** Content of a signature: it says that a digest is of an image of some name. Nothing else may be in it. */
const ContainerSignature = z.strictObject({
  critical: z.strictObject({
    type: z.literal('atomic container signature', { error: 'must be "atomic container signature"' }),
    image: z.strictObject({ 'docker-manifest-digest': z.string() }),
    identity: z.strictObject({ 'docker-reference': z.string().min(1, { error: 'is empty: the signature must say of which image it is' }) }),
  }),
  optional: z.strictObject({ creator: z.string().optional(), timestamp: z.number().optional() }).nullish(),
});

/**
 * Says why signed content does not vouch for a digest; undefined when it does. Pure.
 * @param content what was signed, as bytes of JSON
 */
export function refusalOfSignature(content: Uint8Array, digest: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch {
    return 'the signed content is not JSON';
  }
  const parsed = ContainerSignature.safeParse(document);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return `the signed content is no container signature: ${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'wrong type'}`;
  }
  const signed = parsed.data.critical.image['docker-manifest-digest'];
  return signed === digest ? undefined : `the signature is of ${signed.slice(0, 200)}, not of ${digest}`;
}
