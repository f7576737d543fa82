const PRIME_LOW = 0x1b3;

/**
 * Hash of the manifests that are applied, for display: FNV-1 of 64 bits over their JSON texts in order, as base64 for URLs.
 */
export function payloadHash(manifests: Iterable<{ readonly raw: string }>): string {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  const encoder = new TextEncoder();
  for (const { raw } of manifests)
    for (const byte of encoder.encode(raw)) {
      // times 2^40 + 0x1b3, in halves of 32 bits
      const product = low * PRIME_LOW;
      high = (high * PRIME_LOW + Math.floor(product / 2 ** 32) + low * 256) >>> 0;
      low = ((product >>> 0) ^ byte) >>> 0;
    }
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(high, 0);
  bytes.writeUInt32BE(low, 4);
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
