import { Command } from 'commander';
import { type CommandRow, commands } from './commands.ts';
import { completionCommand } from './completion/command.ts';
import { helpOf } from './option.ts';
import { Exit } from './run.ts';

/** The command line as commander reads it, made of the table. */
export function createProgram(): Command {
  const program = new Command('flotilla')
    .description('Manages a fleet from the command line.')
    .option('--version', 'print version and commit')
    .configureHelp({ helpWidth: 120 })
    .showHelpAfterError('(flotilla --help lists what there is)');
  for (const row of commands) program.addCommand(build(row));
  program.addCommand(completionCommand());
  program.addHelpText(
    'after',
    `\nExit codes: ${Exit.yes} yes, ${Exit.unknown} could not find out, ${Exit.usage} typed wrong, ${Exit.no} the answer is no, ${Exit.timeUp} time is up.`,
  );
  endWithUsage(program);
  return program;
}

function build({ name, meaning, takes = [], options, load, commands: below = [] }: CommandRow): Command {
  const command = new Command(name).description(meaning).showHelpAfterError(`(flotilla ${name} --help lists what there is)`);
  for (const [argument, of] of takes) command.argument(argument, of);
  for (const [flags, of] of options ? helpOf(options) : []) command.option(flags, of);
  for (const row of below) command.addCommand(build(row));
  if (load)
    command.action(async () => {
      const run = await load();
      await run(command.args, command.opts());
    });
  return command;
}

/** A command that was typed wrong ends with 2, as every program of ours does; help that was asked for ends with 0. */
function endWithUsage(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? Exit.yes : Exit.usage));
  for (const each of command.commands) endWithUsage(each);
}
