import { writeFileSync } from 'node:fs';
import { readEnvironment } from '@flotilla/control-plane/processes';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';
import { z } from 'zod';

/** Environment variable that names the file for the report. */
export const REPORT_VARIABLE = 'FLOTILLA_TEST_REPORT';

/** What one vitest run came to; written as JSON, read back by the test command. */
export const TestReport = z.object({
  passed: z.int(),
  /** Failed tests, files that could not be loaded, failed hooks and errors outside of tests: one sentence each. */
  failures: z.array(z.string()),
  /** Skipped tests with the reason that the test gave. */
  skips: z.array(z.object({ name: z.string(), reason: z.string().optional() })),
  /** Tests that failed first and passed when they were run again, and how they failed: on a busy machine, or because something is wrong. */
  unsteady: z.array(z.string()).default([]),
  /** How long each file took, its hooks included. */
  files: z.array(z.object({ name: z.string(), seconds: z.number() })).default([]),
});
export type TestReport = z.output<typeof TestReport>;

type Failing = { errors(): readonly Pick<SerializedError, 'message'>[] };

/** What is read of a test. */
export type FinishedTest = Pick<TestCase, 'fullName' | 'result' | 'diagnostic'> & { readonly parent: Suite };
type Suite = Failing & { readonly parent?: Suite };

/** What is read of a file of tests. */
export type FinishedModule = Failing &
  Pick<TestModule, 'relativeModuleId'> & {
    diagnostic(): { readonly duration: number };
    readonly children: { allSuites(): Iterable<Failing>; allTests(): Iterable<FinishedTest> };
  };

/** Adds up the tests of finished modules. */
export function summarize(modules: readonly FinishedModule[], unhandled: readonly SerializedError[]): TestReport {
  const failures = unhandled.map((error) => `outside of a test: ${oneLine(error.message)}`);
  const report: TestReport = { passed: 0, failures, skips: [], unsteady: [], files: [] };
  for (const module of modules) {
    report.files.push({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1000 });
    const suiteErrors = [...module.children.allSuites()].flatMap((suite) => suite.errors());
    for (const error of [...module.errors(), ...suiteErrors]) report.failures.push(`${module.relativeModuleId}: ${oneLine(error.message)}`);
    for (const test of module.children.allTests()) {
      const name = `${module.relativeModuleId} > ${test.fullName}`;
      const result = test.result();
      if (test.diagnostic()?.flaky) report.unsteady.push(`${name}: ${firstError(result.errors)}`);
      if (result.state === 'passed') report.passed += 1;
      else if (result.state === 'failed') report.failures.push(`${name}: ${firstError(result.errors)}`);
      else if (result.state === 'skipped') {
        const reason = result.note ?? (hasFailedSetup(test) ? SETUP_FAILED : undefined);
        report.skips.push({ name, ...(reason && { reason }) });
      }
      // Neither: the run was broken off before this test.
      else report.failures.push(`${name}: did not run to its end`);
    }
  }
  return report;
}

/** Why a test did not run whose suite could not be set up; the error itself is among the failures. */
export const SETUP_FAILED = 'its set-up failed, see above';

function hasFailedSetup({ parent }: FinishedTest): boolean {
  for (let suite: Suite | undefined = parent; suite; suite = suite.parent) if (suite.errors().length > 0) return true;
  return false;
}

const firstError = (errors: readonly Pick<SerializedError, 'message'>[] = []): string => oneLine(errors[0]?.message ?? 'failed');

/** What was expected, where a message says so after what a program printed; else its first line. */
function oneLine(text: string): string {
  const lines = text.split('\n');
  return (lines.find((line) => /\bexpected\b/.test(line)) ?? lines[0] ?? '').slice(0, 300);
}

/** Most characters shown of how a first attempt failed; its end is what tells. */
const MOST_SHOWN = 6_000;

/** What the runner's own report leaves out: the errors of attempts that a second one has made up for. */
export const firstAttempts = (modules: readonly FinishedModule[]): string[] =>
  modules.flatMap((module) =>
    [...module.children.allTests()].flatMap((test) => {
      if (!test.diagnostic()?.flaky) return [];
      const errors = (test.result().errors ?? []).map((error) => [error.message, error.diff].filter(Boolean).join('\n').slice(-MOST_SHOWN));
      return [`first attempt of ${module.relativeModuleId} > ${test.fullName}:\n${errors.join('\n')}`];
    }),
  );

/** Vitest reporter that writes a TestReport. vitest's own JSON report lacks the reasons of skips. */
export default class TestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    for (const text of firstAttempts(modules)) process.stdout.write(`\n${text}\n`);
    const { testReport } = readEnvironment();
    if (testReport) writeFileSync(testReport, JSON.stringify(summarize(modules, unhandled)));
  }
}
