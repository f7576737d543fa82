import { errorMessage, FlotillaError } from '@flotilla/api';
import { withVersion } from '@flotilla/runtime';
import { Command } from 'commander';
import { checkCommand } from './check-talm/command.ts';
import { joinCommand } from './join/command.ts';
import { payloadCommand } from './payload/command.ts';
import { diffCommand } from './payload-diff/command.ts';
import { upgradeCommand } from './upgrade/command.ts';

// A reader such as `head` may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** Exit code of a command whose arguments are wrong. */
const USAGE = 2;

const program = withVersion(new Command('flotilla'), 'flotilla')
  .description('Manages a fleet from the command line.')
  .addCommand(joinCommand())
  .addCommand(payloadCommand().addCommand(diffCommand()))
  .addCommand(upgradeCommand())
  .addCommand(checkCommand());
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
