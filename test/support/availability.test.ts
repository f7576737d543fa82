import { expect, test } from 'vitest';
import { unavailableSeconds } from './availability.ts';

const samples = (text: string) => text.split('').map((mark, index) => ({ at: index * 200, isAvailable: mark === '+' }));

test.each([
  { name: 'nothing was seen', given: '', want: 0 },
  { name: 'everything was there all the time', given: '++++', want: 0 },
  { name: 'a gap ends', given: '++---++', want: 0.6 },
  { name: 'two gaps are added up', given: '+-+--+', want: 0.6 },
  { name: 'a gap has not ended', given: '++--', want: 0.4 },
  { name: 'it begins in a gap, whose start nobody saw', given: '--++', want: 0.2 },
])('$want s when $name', ({ given, want }) => expect(unavailableSeconds(samples(given))).toBeCloseTo(want));
