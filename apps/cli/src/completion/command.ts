import { Argument, Command } from 'commander';
import { scripts } from './scripts.ts';
import { commandTable } from './table.ts';

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** `flotilla completion`: the script that completes commands and options in a shell. */
export const completionCommand = (): Command =>
  new Command('completion')
    .description('Prints the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: (typeof shells)[number], _options: unknown, command: Command) => {
      process.stdout.write(scripts[shell](commandTable(command.parent ?? command)));
    });
