import { expect, test } from 'vitest';
import { texts } from './repository.ts';

/** A comment, or a line of one, that opens with a clause instead of its subject. */
const CLAUSE = /^\s*(?:\/\*\*?|\*|\/\/) ?(?:What|How|Whoever|Whose|Of|Who) /;

/** Lists the comments in these rooms that open with a clause, as `file:line`. A reader must find the subject of a sentence first. */
function clauseOpenings(texts: ReadonlyMap<string, string>, rooms: readonly string[]): string[] {
  const inRooms = [...texts].filter(([file]) => rooms.some((room) => file.startsWith(`${room}/`)));
  return inRooms.flatMap(([file, text]) => text.split('\n').flatMap((line, index) => (CLAUSE.test(line) ? [`${file}:${index + 1}`] : [])));
}

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
