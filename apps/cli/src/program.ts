import { Command, Option } from 'commander';
import { type CommandRow, commands } from './commands.ts';
import { completionCommand } from './completion/command.ts';
import { Exit } from './run.ts';

/**
 * The command line as commander reads it, made of the table.
 * @param typed words of the command that is meant, whose options alone are loaded; absent: every command with its options
 */
export async function createProgram(typed?: readonly string[]): Promise<Command> {
  const program = new Command('flotilla')
    .description('Manages a fleet from the command line.')
    .option('--version', 'print version and commit')
    .configureHelp({ helpWidth: 120 })
    .showHelpAfterError('(flotilla --help lists what there is)');
  const isMeant = (name: string) => typed?.includes(name) ?? true;
  for (const row of commands) program.addCommand(await build(row, isMeant));
  program.addCommand(completionCommand());
  program.addHelpText(
    'after',
    `\nExit codes: ${Exit.yes} yes, ${Exit.unknown} could not find out, ${Exit.usage} typed wrong, ${Exit.no} the answer is no, ${Exit.timeUp} time is up.`,
  );
  endWithUsage(program);
  return program;
}

async function build(
  { name, meaning, takes = [], options, load, commands: below = [] }: CommandRow,
  isMeant: (name: string) => boolean,
): Promise<Command> {
  const command = new Command(name).description(meaning).showHelpAfterError(`(flotilla ${name} --help lists what there is)`);
  for (const [argument, of] of takes) command.argument(argument, of);
  if (options && isMeant(name)) {
    const { helpOf } = await import('./option.ts');
    for (const [flags, of] of helpOf(await options())) command.option(flags, of);
  } else if (options) command.addOption(new Option('--options').hideHelp()); // A list of commands shows that it has some.
  for (const row of below) command.addCommand(await build(row, isMeant));
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
