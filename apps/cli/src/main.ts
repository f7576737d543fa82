import { errorMessage } from '@flotilla/api';
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

const program = new Command('flotilla')
  .description('Manages a fleet from the command line.')
  .addCommand(joinCommand())
  .addCommand(payloadCommand().addCommand(diffCommand()))
  .addCommand(upgradeCommand());
try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`flotilla: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
