import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readBuild, versionLine } from './version.ts';

test('a checkout says the version of package.json and the commit of git', () => {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  expect(readBuild()).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+/), commit });
});

test('the line names program, version and commit', () => {
  expect(versionLine('hub', { version: '1.2.3', commit: 'abc' })).toBe('hub 1.2.3 (commit abc)');
});
