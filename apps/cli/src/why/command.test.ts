import { expect, test } from 'vitest';
import { whyAllText, whyText } from './command.ts';

const NOW = Date.UTC(2026, 0, 2);
const link = {
  object: 'ClusterGroupUpgrade default/rolling',
  field: 'status.status.currentBatchRemediationProgress',
  observedAt: new Date(NOW - 3_600_000).toISOString(),
};
const answerOf = (says: string, value: string): Parameters<typeof whyText>[0] => ({
  upgrade: 'default/rolling',
  cause: 'batch',
  chain: [{ ...link, says, value, isUnknown: false }],
  release: { byItself: true, says: 'It goes on.' },
  notes: [],
  isCertain: true,
});
const SENTENCE = 'site-5 waits for batch 2, which waits for site-3 and for site-4, and these wait for somebody who looks at them today';

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

test.each([40, 80, 200])('at %i columns the sentence and the age of its evidence are whole', (width) => {
  const text = oneLine(whyText(answerOf(SENTENCE, 'state: InProgress, policyIndex: 0, since yesterday'), { width }, NOW));
  expect(text).toContain(SENTENCE);
  expect(text).toContain(' 60 min ago');
  expect(text).not.toContain('…');
});

test('all that a status keeps of a failure is shown', () => {
  const says = `site-5 failed: pull of a failed: ${'and so on '.repeat(116)}401 Unauthorized`;
  expect(oneLine(whyText(answerOf(says, 'failed'), { width: 80 }, NOW))).toContain(says);
});

test('a hostile text takes a few lines, and the age stays', () => {
  const text = whyText(answerOf('long '.repeat(2_000), 'long '.repeat(2_000)), { width: 80 }, NOW);
  expect(text.split('\n').length).toBeLessThanOrEqual(28);
  expect(oneLine(text)).toContain(' 60 min ago');
});

test.each([
  ['a pipe and -o wide', undefined, true],
  ['a terminal', 120, false],
])('of every cause the sentence is whole in %s: %s columns', (_, width, isWhole) => {
  const waits = ['first', 'second'].map((name) => ({ cause: 'batch' as const, says: `${name}: ${SENTENCE}`, clusters: 1, example: name }));
  const text = whyAllText({ upgrade: 'default/rolling', waits, first: answerOf('it waits', '1') }, { width }, NOW);
  expect(text.includes(`second: ${SENTENCE}`)).toBe(isWhole);
});
