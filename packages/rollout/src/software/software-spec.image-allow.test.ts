import { describe, expect, test } from 'vitest';
import { isImageAllowed, repositoryOf } from './software-spec.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  ['registry.example/team/puller:1', 'registry.example/team/puller'],
  [`registry.example:5000/puller@${digest}`, 'registry.example:5000/puller'],
  [`registry.example/puller:1@${digest}`, 'registry.example/puller'],
  ['puller:1', 'puller'],
])('%s is of repository %s', (image, want) => expect(repositoryOf(image)).toBe(want));

describe('allowed', () => {
  test.each([
    ['registry.example/team/puller:1', 'registry.example/team/puller'],
    ['registry.example/team/puller:1', 'registry.example/team'],
    ['registry.example/team/puller:1', 'registry.example/team/'],
    ['registry.example/team/puller:1', 'registry.example'],
    ['registry.example:5000/puller:1', 'registry.example:5000'],
    ['registry.example/puller:1', 'registry.example/puller:1'],
    [`other.example/puller@${digest}`, digest],
    [`registry.example/puller@${digest}`, `registry.example/puller@${digest}`],
  ])('%s by %s', (image, entry) => expect(isImageAllowed(image, ['nowhere', entry])).toBe(true));
});

describe('refused', () => {
  test.each([
    ['registry.example/teammate/puller:1', 'registry.example/team'],
    ['registry.example/team-puller:1', 'registry.example/team'],
    ['registry.example:5000/evil:1', 'registry.example'],
    ['registry.example.evil.test/puller', 'registry.example'],
    ['registry.example/puller:2', 'registry.example/puller:1'],
    [`registry.example/puller:${'a'.repeat(64)}`, digest],
    ['registry.example/puller:1', ''],
    ['registry.example/puller:1', '/'],
  ])('%s by %s', (image, entry) => expect(isImageAllowed(image, [entry])).toBe(false));
});
