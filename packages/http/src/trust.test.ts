import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { readCertificates } from './connections.ts';

const [first = '', second = ''] = getCACertificates('bundled');
const broken = first.replace(/\n[^\n]+\n/, '\n!!!!\n');

test.each([
  { name: 'nothing', pem: '', want: [] },
  { name: 'what is no PEM', pem: 'hello', want: [] },
  { name: 'DER', pem: new X509Certificate(first).raw, want: [] },
  { name: 'one that is cut before another', pem: `${first.slice(0, 200)}\n${second}`, want: [second] },
  { name: 'one that is broken between others', pem: `${first}\n${broken}\n${second}`, want: [first, second] },
  {
    name: 'words and a key between',
    pem: `words\n${first}\n-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n${second}`,
    want: [first, second],
  },
])('of $name the readable certificates count', ({ pem, want }) => {
  expect(readCertificates(pem)).toEqual(want);
});
