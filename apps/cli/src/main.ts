import { errorMessage, FlotillaError } from '@flotilla/api';
import type { Command } from 'commander';
import { createProgram } from './program.ts';

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** Exit code of a command whose arguments are wrong. */
const USAGE = 2;

const program = createProgram();
endWithUsage(program);
try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`flotilla: ${errorMessage(error)}\n`);
  process.exitCode = error instanceof FlotillaError && error.code === 'FLOTILLA_CONFIG' ? USAGE : 1;
}

/** Sets exit code 2 for usage errors, as in all our programs, and 0 for requested help. */
function endWithUsage(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE));
  for (const each of command.commands) endWithUsage(each);
}
