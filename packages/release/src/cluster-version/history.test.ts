import type { UpdateHistory } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { entry, NOW } from '../../testing/cluster-version-builders.ts';
import { type HistoryUpdate, historyAfter, pruneHistory } from './history.ts';

const update = (version: string, more: Partial<HistoryUpdate> = {}): HistoryUpdate => ({
  version,
  image: `r@sha256:${version}`,
  completed: false,
  verified: false,
  nowMs: NOW,
  ...more,
});
const at = '2026-01-02T00:00:00Z';

describe('historyAfter', () => {
  test.each<{ name: string; history?: UpdateHistory[]; given: HistoryUpdate; want: Partial<UpdateHistory>[] }>([
    {
      name: 'records nothing without an image',
      history: [entry('1.0.0', 'Completed')],
      given: update('1.0.1', { image: '' }),
      want: [{ version: '1.0.0' }],
    },
    {
      name: 'begins with a partial entry',
      given: update('1.0.0'),
      want: [{ version: '1.0.0', state: 'Partial', startedTime: at, completionTime: null, verified: false }],
    },
    {
      name: 'completes the entry it is at, once',
      history: [entry('1.0.0', 'Partial')],
      given: update('1.0.0', { completed: true, verified: true }),
      want: [{ state: 'Completed', startedTime: '2026-01-01T00:00:00Z', completionTime: at, verified: true }],
    },
    {
      name: 'keeps the time of the first completion, and that it was verified',
      history: [entry('1.0.0', 'Completed', { verified: true })],
      given: update('1.0.0', { completed: true }),
      want: [{ state: 'Completed', completionTime: '2026-01-01T01:00:00Z', verified: true }],
    },
    {
      name: 'a later pass that is under way takes nothing back',
      history: [entry('1.0.0', 'Completed')],
      given: update('1.0.0'),
      want: [{ state: 'Completed', completionTime: '2026-01-01T01:00:00Z' }],
    },
    {
      name: 'ends an entry that it leaves, which stays partial',
      history: [entry('1.0.0', 'Partial'), entry('0.9.0', 'Completed')],
      given: update('1.0.1'),
      want: [
        { version: '1.0.1', state: 'Partial', completionTime: null },
        { version: '1.0.0', state: 'Partial', completionTime: at },
        { version: '0.9.0' },
      ],
    },
    {
      name: 'one image with a version that was not known is one entry',
      history: [entry('', 'Partial', { image: 'i' })],
      given: update('1.0.0', { image: 'i' }),
      want: [{ version: '1.0.0', image: 'i' }],
    },
    {
      name: 'one version whose image was not known is one entry',
      history: [entry('1.0.0', 'Partial', { image: '' })],
      given: update('1.0.0', { image: 'i' }),
      want: [{ version: '1.0.0', image: 'i' }],
    },
    {
      name: 'one version of another image is another entry',
      history: [entry('1.0.0', 'Completed', { image: 'i' })],
      given: update('1.0.0', { image: 'j' }),
      want: [{ image: 'j' }, { image: 'i', completionTime: '2026-01-01T01:00:00Z' }],
    },
    {
      name: 'tells the risks that were taken',
      history: [entry('1.0.0', 'Partial', { acceptedRisks: 'old' })],
      given: update('1.0.0', { acceptedRisks: 'new' }),
      want: [{ acceptedRisks: 'new' }],
    },
    {
      name: "keeps the risks that were taken for the operator's own release",
      history: [entry('1.0.0', 'Partial', { acceptedRisks: 'old' })],
      given: update('1.0.0'),
      want: [{ acceptedRisks: 'old' }],
    },
  ])('$name', ({ history = [], given, want }) => {
    const after = historyAfter(history, given);
    expect(after).toHaveLength(want.length);
    for (const [index, part] of want.entries()) expect(after[index]).toMatchObject(part);
  });

  test('risks that are none any more are not told', () => {
    const [only] = historyAfter([entry('1.0.0', 'Partial', { acceptedRisks: 'old' })], update('1.0.0', { acceptedRisks: '' }));
    expect(only).not.toHaveProperty('acceptedRisks');
  });
});

/** `4.1.2` completed, `~4.1.2` partial; newest first. */
const historyOf = (text: string): UpdateHistory[] =>
  text.split(' ').map((each) => (each.startsWith('~') ? entry(each.slice(1), 'Partial') : entry(each, 'Completed')));
const textOf = (history: readonly UpdateHistory[]): string =>
  history.map(({ state, version }) => (state === 'Partial' ? `~${version}` : version)).join(' ');

describe('pruneHistory', () => {
  test.each([
    { name: 'keeps what fits', most: 8, given: '4.3.2 4.3.1 4.2.1', want: '4.3.2 4.3.1 4.2.1' },
    {
      name: 'drops a partial entry between patches of one minor first',
      most: 8,
      given: '4.9.5 4.9.4 4.9.3 4.9.2 4.9.1 ~4.9.1 4.9.0 4.8.9 4.8.0',
      want: '4.9.5 4.9.4 4.9.3 4.9.2 4.9.1 4.9.0 4.8.9 4.8.0',
    },
    {
      name: 'keeps an attempt between minors rather than a patch in the middle of one',
      most: 8,
      given: '4.9.9 4.9.8 4.9.7 4.9.6 4.9.5 4.9.4 4.9.3 ~4.9.3 4.8.0',
      want: '4.9.9 4.9.8 4.9.7 4.9.6 4.9.5 4.9.3 ~4.9.3 4.8.0',
    },
    {
      name: 'drops an attempt between minors before the last and the first of a minor',
      most: 8,
      given: '4.9.5 4.9.4 4.9.3 4.9.2 4.9.1 4.9.0 ~4.9.0 4.8.9 4.8.8',
      want: '4.9.5 4.9.4 4.9.3 4.9.2 4.9.1 4.9.0 4.8.9 4.8.8',
    },
    {
      name: 'drops a patch in the middle of a minor, the oldest of them',
      most: 9,
      given: '4.9.9 4.9.8 4.9.7 4.9.6 4.9.5 4.9.4 4.9.3 4.9.2 4.8.1 4.8.0',
      want: '4.9.9 4.9.8 4.9.7 4.9.6 4.9.5 4.9.4 4.9.2 4.8.1 4.8.0',
    },
    {
      name: 'keeps the newest five and the first, whatever they are',
      most: 6,
      given: '~4.9.9 ~4.9.8 ~4.9.7 ~4.9.6 ~4.9.5 ~4.9.4 ~4.9.3',
      want: '~4.9.9 ~4.9.8 ~4.9.7 ~4.9.6 ~4.9.5 ~4.9.3',
    },
    {
      name: 'keeps the last release that was completed, and drops an attempt that came to nothing',
      most: 7,
      given: '~4.9.9 ~4.9.8 ~4.9.7 ~4.9.6 ~4.9.5 4.9.4 ~4.9.3 4.9.2',
      want: '~4.9.9 ~4.9.8 ~4.9.7 ~4.9.6 ~4.9.5 4.9.4 4.9.2',
    },
    {
      name: 'comes down from more than one too many',
      most: 6,
      given: '4.9.6 4.9.5 4.9.4 4.9.3 4.9.2 4.9.1 ~4.9.1 4.9.0',
      want: '4.9.6 4.9.5 4.9.4 4.9.3 4.9.2 4.9.0',
    },
  ])('$name', ({ most, given, want }) => expect(textOf(pruneHistory(historyOf(given), most))).toBe(want));

  test('a hundred entries are kept, and the newest and the first always are among them', () => {
    let history: readonly UpdateHistory[] = [];
    for (let patch = 0; patch < 250; patch++)
      history = historyAfter(history, update(`4.${Math.floor(patch / 50)}.${patch % 50}`, { completed: patch % 3 !== 0 }));
    expect(history).toHaveLength(100);
    expect(history[0]?.version).toBe('4.4.49');
    expect(history.at(-1)?.version).toBe('4.0.0');
  });
});
