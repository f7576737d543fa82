import type { PrecachingSpec } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { templateDigest } from '../../../transports/actions/hub-objects.ts';
import { specDigest } from './manifests.ts';

const spec: PrecachingSpec = { platformImage: 'p', additionalImages: ['a', 'b'] };

test.each<{ name: string; other: PrecachingSpec; same: boolean }>([
  { name: 'the same said again', other: { ...spec }, same: true },
  { name: 'lists in another order', other: { ...spec, additionalImages: ['b', 'a'] }, same: true },
  { name: 'empty lists instead of none', other: { ...spec, operatorsIndexes: [], spaceRequired: '' }, same: true },
  { name: 'another image', other: { ...spec, platformImage: 'q' }, same: false },
  { name: 'one entry more', other: { ...spec, additionalImages: ['a', 'b', 'c'] }, same: false },
  { name: 'the same text in another field', other: { platformImage: 'p', excludePrecachePatterns: ['a', 'b'] }, same: false },
])('$name: same digest is $same', ({ other, same }) => expect(specDigest(other) === specDigest(spec)).toBe(same));

test('is made of what the spec says alone: a field that is known later changes no digest', () =>
  expect(specDigest({ platformImage: 'p' })).toBe(templateDigest([['platform.image', ['p']]])));
