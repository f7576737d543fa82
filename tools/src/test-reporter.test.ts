import { expect, test } from 'vitest';
import { type FinishedModule, type FinishedTest, firstAttempts, SETUP_FAILED, summarize } from './test-reporter.ts';

const fine = { errors: () => [] };
const broken = { errors: () => [{ message: 'no cluster\nat a place' }] };

function skipped(fullName: string, parent: FinishedTest['parent'], note?: string): FinishedTest {
  return { fullName, parent, diagnostic: () => undefined, result: () => ({ state: 'skipped', note, errors: undefined }) };
}

function moduleOf(suite: FinishedTest['parent'], tests: readonly FinishedTest[]): FinishedModule {
  return {
    ...fine,
    relativeModuleId: 'a.test.ts',
    diagnostic: () => ({ duration: 2000 }),
    children: { allSuites: () => [suite], allTests: () => tests },
  };
}

test('a test that passed at the second attempt is named with what failed in the first', () => {
  const unsteady: FinishedTest = {
    fullName: 'story',
    parent: fine,
    diagnostic: () => ({ flaky: true, slow: false, heap: undefined, duration: 1, startTime: 1, retryCount: 1, repeatCount: 0 }),
    result: () => ({ state: 'passed', errors: [{ message: 'what a program printed\nmore: expected 1 to be 0', diff: '- 0\n+ 1' }] }),
  };
  const report = summarize([moduleOf(fine, [unsteady])], []);
  expect(report).toMatchObject({ passed: 1, failures: [], unsteady: ['a.test.ts > story: more: expected 1 to be 0'] });
  expect(firstAttempts([moduleOf(fine, [unsteady])])).toEqual([
    'first attempt of a.test.ts > story:\nwhat a program printed\nmore: expected 1 to be 0\n- 0\n+ 1',
  ]);
});

test('a test whose suite could not be set up says so instead of asking for a reason', () => {
  const module = moduleOf(broken, [
    skipped('below it', { ...fine, parent: broken }),
    skipped('with a reason of its own', broken, 'needs root'),
    skipped('elsewhere', fine),
  ]);
  const report = summarize([module], []);
  expect(report.failures).toEqual(['a.test.ts: no cluster']);
  expect(report.skips.map(({ reason }) => reason)).toEqual([SETUP_FAILED, 'needs root', undefined]);
});
