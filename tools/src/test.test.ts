import { describe, expect, test } from 'vitest';
import { closingSummary, parseRun, runStages, stagesOf } from './test.ts';
import { checkReport, NOTHING } from './test-stages.ts';

describe('closing summary', () => {
  test('ends with the three numbers alone on the last line, after the ten slowest files and whatever went wrong', () => {
    const files = Array.from({ length: 11 }, (_, index) => ({ name: `file-${index}`, seconds: index }));
    const total = { passed: 12, failures: ['tsc failed'], skips: [{ name: 'a > b', reason: 'needs root' }], unsteady: ['c > d'], files };
    const slowest = Array.from({ length: 10 }, (_, index) => `  ${10 - index}.0 s file-${10 - index}`);
    expect(closingSummary(total, undefined)).toEqual([
      'Slowest files:',
      ...slowest,
      'Failed:',
      '  tsc failed',
      'Passed at the second attempt:',
      '  c > d',
      'Skipped:',
      '  a > b: needs root',
      '12 passed, 1 failed, 1 skipped',
    ]);
  });

  test.each([
    {
      name: 'the reason of the test itself comes first',
      file: 'test/e2e/x',
      reason: 'no network',
      obstacle: 'needs root',
      want: 'no network',
    },
    { name: 'else why there are no clusters', file: 'test/e2e/x', reason: undefined, obstacle: 'needs root', want: 'needs root' },
    { name: 'which is no reason for other tests', file: 'test/other', reason: undefined, obstacle: 'needs root', want: 'gives no reason' },
    {
      name: 'else it says that the reason is missing',
      file: 'test/e2e/x',
      reason: undefined,
      obstacle: undefined,
      want: 'gives no reason',
    },
  ])('$name', ({ file, reason, obstacle, want }) => {
    const lines = closingSummary({ ...NOTHING, skips: [{ name: `${file}.test.ts > a`, reason }] }, obstacle);
    expect(lines[1]).toContain(want);
  });
});

describe('a vitest run', () => {
  const clean = JSON.stringify({ passed: 3, failures: [], skips: [] });

  test.each([
    { name: 'passes with a clean report and exit code 0', text: clean, code: 0, failures: 0 },
    { name: 'fails without a report', text: undefined, code: 0, failures: 1 },
    { name: 'fails with an exit code that no failed test explains', text: clean, code: 1, failures: 1 },
    { name: 'counts its failed tests once', text: JSON.stringify({ passed: 0, failures: ['a', 'b'], skips: [] }), code: 1, failures: 2 },
  ])('$name', ({ text, code, failures }) => {
    expect(checkReport(text, code, ['unit']).failures).toHaveLength(failures);
  });
});

test('a stage that begins early is waited for in its turn, and fails there', async () => {
  const order: string[] = [];
  const run = async (name: string) => {
    order.push(name);
    return NOTHING;
  };
  const stage = (name: string) => ({ name, run: () => run(name) });
  const early = {
    name: 'second',
    begin: () => void order.push('begun'),
    run: () => Promise.reject(new Error('no Go')),
  };
  const { failures } = await runStages([stage('first'), early, stage('third')]);
  expect(order).toEqual(['begun', 'first', 'third']);
  expect(failures).toEqual(['second: no Go']);
});

test('set-up begins before the checks of a machine, and that of whole systems after them', () => {
  const early = (run: 'test' | 'test:system' | 'test:all') => stagesOf(run).flatMap(({ name, begin }) => (begin ? [name] : []));
  expect(early('test')).toEqual(['set-up']);
  expect(early('test:system')).toEqual([]);
  expect(early('test:all')).toEqual(['set-up']);
});

describe('arguments', () => {
  const stages = (...args: string[]): string[] => {
    const { run, only } = parseRun(args);
    return stagesOf(run, only).map(({ name }) => name);
  };
  const anywhere = [
    'types',
    'format and lint',
    'type-aware lint',
    'generated files',
    'unit tests',
    'simulation',
    'set-up',
    'integration tests',
  ];
  const asRoot = ['set-up of whole systems', 'system and end-to-end tests'];

  test('run what any machine can by default, what needs no set-up first; the systems, and all, by name', () => {
    expect(stages()).toEqual(anywhere);
    expect(stages('test:system')).toEqual(asRoot);
    expect(stages('test:all')).toEqual([...anywhere, ...asRoot]);
  });

  test('select one tier', () => {
    expect(stages('--only', 'unit')).toEqual(['unit tests']);
    expect(stages('--only', 'integration')).toEqual(['set-up', 'integration tests']);
    expect(stages('--only', 'e2e')).toEqual(['set-up of whole systems', 'end-to-end tests']);
  });

  test('refuse a tier or a run that does not exist, naming those that do', () => {
    expect(() => parseRun(['--only', 'all'])).toThrow('unit, integration, system, e2e');
    expect(() => parseRun(['tests'])).toThrow('tests: must be one of test, test:system, test:all');
  });
});
