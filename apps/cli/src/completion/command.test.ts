import { expect, test } from 'vitest';
import { scripts } from './command.ts';

const rows = [
  { path: '', commands: [{ word: 'payload', meaning: 'Looks into a release.' }], options: [] },
  {
    path: 'payload',
    commands: [{ word: 'lint', meaning: '' }],
    options: [{ word: '--cluster', meaning: 'one cluster', takesValue: true }],
  },
];

test('the script for PowerShell has each word with its meaning, by the commands before it', () => {
  const lines = scripts
    .powershell(rows)
    .split('\n')
    .map((line) => line.trim());
  expect(lines).toContain("'' = @('payload|Looks into a release.')");
  // A tooltip may not be empty.
  expect(lines).toContain("'payload' = @('lint|lint', '--cluster|one cluster')");
  expect(lines).toContain("$withValue = @('payload --cluster')");
  expect(lines).toContain("$name, $meaning = $entry -split '\\|', 2");
});
