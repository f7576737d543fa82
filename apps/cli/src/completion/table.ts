import type { Command } from 'commander';

/** A command as completion needs it. */
export interface CommandRow {
  /** Words after the program's name; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Entry[];
  readonly options: readonly (Entry & { readonly takesValue: boolean })[];
}

/** A word with its meaning. */
interface Entry {
  readonly word: string;
  readonly meaning: string;
}

/** All commands below a command, itself first, with the options that `--help` shows. */
export function commandTable(command: Command, path = ''): CommandRow[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).map((option) => ({
    word: option.long ?? option.short ?? '',
    meaning: plain(option.description),
    takesValue: option.required || option.optional,
  }));
  const commands = help
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help')
    .map((one) => ({ word: one.name(), meaning: plain(one.description()) }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((word) => ({ word, meaning: plain(description) })),
  );
  const below = command.commands.flatMap((one) => commandTable(one, `${path} ${one.name()}`.trim()));
  return [{ path, commands: [...commands, ...choices], options }, ...below];
}

/** A shell's quotes and brackets have meanings of their own in completion scripts. */
const plain = (text: string): string =>
  text
    .replaceAll(/['"`\\[\]:$]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
