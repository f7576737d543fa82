import { expect, test } from 'vitest';
import { clauseOpenings } from './comment-openings.ts';
import { texts } from './repository.ts';

/** Rooms whose comments follow the rule; a room joins once its comments do. */
const ROOMS = [
  'apps/cli',
  'apps/console',
  'apps/hub',
  'apps/image-puller',
  'apps/spoke-agent',
  'apps/upgrade-operator',
  'apps/version-operator',
  'demo',
  'packages/agent',
  'packages/api',
  'packages/control-plane',
  'packages/http',
  'packages/pace',
  'packages/queues',
  'packages/registry',
  'packages/release',
  'packages/rollout',
  'packages/runtime',
  'packages/software',
  'packages/upgrade',
];

test('a comment opens with its subject, not with What, How, Who, Whoever, Whose or Of', () => {
  for (const room of ROOMS) expect([...texts.keys()].filter((file) => file.startsWith(`${room}/`))).not.toEqual([]);
  expect(clauseOpenings(texts, ROOMS)).toEqual([]);
});

test('a comment of each form that opens with a clause is found, and nothing else', () => {
  const text = [
    '/** What applying needs. */',
    '/**',
    ' * Whoever starts it ends it.',
    ' */',
    '// How long it takes.',
    '/** Dependencies of `apply`. */',
    "const title = '/** What it is. */';",
    'const half = total * Offset; // Whatever remains.',
  ].join('\n');
  const found = clauseOpenings(
    new Map([
      ['apps/a/src/b.ts', text],
      ['apps/ab/src/b.ts', text],
    ]),
    ['apps/a'],
  );
  expect(found).toEqual(['apps/a/src/b.ts:1', 'apps/a/src/b.ts:3', 'apps/a/src/b.ts:5']);
});
