import { expect, test } from 'vitest';
import { payloadHash } from './payload.ts';

/** FNV-1 by its definition. */
function fnv1(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = ((hash * 0x100000001b3n) & 0xffffffffffffffffn) ^ BigInt(byte);
  return Buffer.from(hash.toString(16).padStart(16, '0'), 'hex').toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

test('of nothing it is the offset basis', () => expect(payloadHash([])).toBe('y_Kc5IQiIyU='));

test('it goes over all texts in order', () => {
  const texts = ['{"a":1}', 'ü', '', 'x'.repeat(1_000)];
  expect(payloadHash(texts.map((raw) => ({ raw })))).toBe(fnv1(texts.join('')));
});
