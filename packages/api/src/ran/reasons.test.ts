import { expect, test } from 'vitest';
import { conditionMessage, cutAtWord, cutInMiddle, explain, fixOf, type Reason, reasons } from './reasons.ts';

const all = Object.keys(reasons) as Reason[];
/** Reasons that need no action. */
const WELL = new Set<Reason>([
  'ClusterSelectionCompleted',
  'ValidationCompleted',
  'PrecacheSpecIsWellFormed',
  'PrecachingCompleted',
  'BackupCompleted',
  'InProgress',
  'NotStarted',
  'Completed',
]);

test('every reason that stops or delays an upgrade has a fix, short enough for the words of a cluster', () => {
  const without = all.filter((reason) => fixOf(reason) === '');
  expect(new Set(without)).toEqual(WELL);
  for (const reason of all) {
    expect(fixOf(reason), reason).not.toMatch(/[.;]$/);
    expect(fixOf(reason).length, reason).toBeLessThan(200);
  }
});

test('a sentence is the problem, then the fix with its values, once', () => {
  expect(explain('UnknownAnnotation', 'a is not known ', { known: 'b' })).toBe(
    'a is not known; did you mean b? Correct its name, or remove it',
  );
  expect(explain('InvalidSpec', 'spec.x is odd; correct it')).toBe('spec.x is odd; correct it');
  expect(explain('InProgress', 'Rolling out')).toBe('Rolling out');
});

test("the reference's words stay alone with --talm-strict; ours keep what they say", () => {
  const missing = 'Missing managed policies: [a] ';
  expect(conditionMessage('NotAllManagedPoliciesExist', missing, true)).toBe(missing);
  expect(conditionMessage('NotAllManagedPoliciesExist', missing, false)).toBe(
    `Missing managed policies: [a]; ${fixOf('NotAllManagedPoliciesExist')}`,
  );
  expect(conditionMessage('NothingToDo', 'said', false)).toBe('said');
});

test.each([
  { name: 'a short text stays', text: 'short', most: 10, want: 'short' },
  { name: 'one that just fits stays', text: '0123456789', most: 10, want: '0123456789' },
  { name: 'a long one is cut before a word', text: 'mend the registry now', most: 12, want: 'mend the…' },
  { name: 'right behind a word', text: 'mend the registry', most: 9, want: 'mend the…' },
  { name: 'without what would join', text: 'mend it; then go', most: 10, want: 'mend it…' },
  { name: 'a text of one word is cut in it', text: 'x'.repeat(20), most: 5, want: 'xxxx…' },
  { name: 'no half of a character is left', text: '\u{1f600}'.repeat(20), most: 5, want: `${'\u{1f600}'.repeat(4)}…` },
])('$name', ({ text, most, want }) => {
  expect(cutAtWord(text, most)).toBe(want);
  expect(Array.from(cutAtWord(text, most)).length).toBeLessThanOrEqual(most);
});

test.each([
  { name: 'a short one as it is', text: 'pull of a failed: 401 Unauthorized', most: 40, want: 'pull of a failed: 401 Unauthorized' },
  {
    name: 'the beginning and the end of a long one',
    text: `pull of registry.example/a failed: ${'layer of the image could not be fetched '.repeat(9)}: 401 Unauthorized`,
    most: 60,
    want: 'pull of… could not be fetched : 401 Unauthorized',
  },
  { name: 'pictures whole', text: `${'🚢'.repeat(40)} sinks`, most: 12, want: '🚢🚢🚢🚢🚢… sinks' },
  { name: 'one word', text: 'a'.repeat(99), most: 12, want: `aa… ${'a'.repeat(8)}` },
])('a message keeps $name', ({ text, most, want }) => {
  expect(cutInMiddle(text, most)).toBe(want);
  expect(Array.from(cutInMiddle(text, most)).length).toBeLessThanOrEqual(most);
});
