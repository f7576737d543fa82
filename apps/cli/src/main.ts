import { errorMessage, FlotillaError } from '@flotilla/api';
import { Command } from 'commander';
import { joinCommand } from './join/command.ts';
import { payloadCommand } from './payload/command.ts';
import { diffCommand } from './payload-diff/command.ts';
import { upgradeCommand } from './upgrade/command.ts';

// `flotilla … | head`: whoever reads has enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** Exit code of a command whose arguments are wrong. */
const USAGE = 2;

const program = new Command('flotilla')
  .description('Manages a fleet from the command line.')
  .addCommand(joinCommand())
  .addCommand(payloadCommand().addCommand(diffCommand()))
  .addCommand(upgradeCommand());
endWithUsage(program);
try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`flotilla: ${errorMessage(error)}\n`);
  process.exitCode = error instanceof FlotillaError && error.code === 'FLOTILLA_CONFIG' ? USAGE : 1;
}

/** A command that was typed wrong ends with 2, as every program of ours does; help that was asked for ends with 0. */
function endWithUsage(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE));
  for (const each of command.commands) endWithUsage(each);
}
