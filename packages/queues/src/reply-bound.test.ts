import { createRandom } from '@flotilla/control-plane/simulators';
import { describe, expect, test } from 'vitest';
import { ReplyBound } from './reply-bound.ts';

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const array = (...items: readonly string[]) => `*${items.length}\r\n${items.join('')}`;
const takes = (bound: ReplyBound, text: string) => bound.take(Buffer.from(text));

describe('a bound of 100 bytes', () => {
  test.each([
    { name: 'a status', reply: '+OK\r\n' },
    { name: 'a number', reply: ':12\r\n' },
    { name: 'nothing', reply: '$-1\r\n' },
    { name: 'no list', reply: '*-1\r\n' },
    { name: 'an empty list', reply: '*0\r\n' },
    { name: 'a text with line ends in it', reply: bulk('a\r\n$500000\r\nb') },
    { name: 'a list in a list', reply: array(bulk('a'), array(bulk('b'), ':1\r\n', '$-1\r\n'), '*0\r\n') },
  ])('takes $name, any number of times and in any pieces', ({ reply }) => {
    const random = createRandom(7, reply);
    const bound = new ReplyBound(100);
    const bytes = Buffer.from(reply.repeat(200));
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + Math.floor(random() * 40);
      expect(bound.take(bytes.subarray(at, at + size))).toBe(true);
      at += size;
    }
  });

  test.each([
    { name: 'a text, as soon as its length is said', reply: '$52428800\r\n' },
    { name: 'a text that comes after small replies', reply: `+OK\r\n:1\r\n$101\r\n` },
    { name: 'texts of a list together', reply: array(bulk('a'.repeat(60)), bulk('b'.repeat(60))) },
    { name: 'a list of very many', reply: '*1000000\r\n' },
    { name: 'a status without an end', reply: `+${'x'.repeat(101)}` },
    { name: 'texts of lists in a list', reply: array(array(bulk('a'.repeat(60))), array(bulk('b'.repeat(60)))) },
  ])('refuses $name', ({ reply }) => {
    expect(takes(new ReplyBound(100), reply)).toBe(false);
    const bound = new ReplyBound(100);
    expect([...Buffer.from(reply)].every((byte) => bound.take(Uint8Array.of(byte)))).toBe(false);
  });

  test('counts each reply for itself', () => {
    const bound = new ReplyBound(100);
    for (let i = 0; i < 50; i += 1) expect(takes(bound, array(bulk('a'.repeat(30)), bulk('b'.repeat(30))))).toBe(true);
  });
});
