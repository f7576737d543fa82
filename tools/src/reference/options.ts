import { describeOptions, type OptionRows } from '@flotilla/runtime';
import { z } from 'zod';
import { loadApp } from './load-app.ts';
import { code, page, table } from './markdown.ts';

/** Programs whose settings are rows of `config.ts`. */
export const PROGRAMS = ['hub', 'image-puller', 'spoke-agent', 'upgrade-operator', 'version-operator'] as const;

/** Commander's own objects, as far as the page reads them. */
const CliOption = z.object({ flags: z.string(), description: z.string() });
const CliArgument = z.object({ _name: z.string(), description: z.string() });
interface CliCommand {
  readonly name: () => string;
  readonly description: () => string;
  readonly options: readonly unknown[];
  readonly registeredArguments: readonly unknown[];
  readonly commands: readonly CliCommand[];
}

/** A command of `flotilla` that does something, with the words that call it. */
interface Leaf {
  readonly words: string;
  readonly command: CliCommand;
}

/** Every command of `flotilla` that does something. */
export async function cliCommands(): Promise<Leaf[]> {
  const { createProgram } = await loadApp<{ createProgram: () => Promise<CliCommand> }>('cli', 'program.ts');
  return leavesOf(await createProgram(), '');
}

const leavesOf = (command: CliCommand, before: string): Leaf[] => {
  const words = `${before} ${command.name()}`.trim();
  return command.commands.length === 0 ? [{ words, command }] : command.commands.flatMap((each) => leavesOf(each, words));
};

/** The settings of a program. */
export const optionsOf = async (app: string): Promise<ReturnType<typeof describeOptions>> =>
  describeOptions((await loadApp<{ options: OptionRows }>(app, 'config.ts')).options);

/** `docs/reference/options.md`. */
export async function optionsPage(): Promise<string> {
  const programs = await Promise.all(PROGRAMS.map(async (app) => `## ${app}\n\n${programTable(await optionsOf(app))}`));
  const commands = (await cliCommands()).map(commandPart);
  return page(
    'Options',
    'A flag wins over its variable; an empty variable counts as absent. A wrong value ends a program with code 2 and names every wrong option.',
    ...programs,
    ...commands,
  );
}

const programTable = (options: Awaited<ReturnType<typeof optionsOf>>): string =>
  table(
    ['option', 'variable', 'default', 'meaning'],
    options.map(({ flag, variable, byDefault, meaning }) => [code(flag), code(variable), code(byDefault), meaning]),
  );

function commandPart({ words, command }: Leaf): string {
  const args = command.registeredArguments.map((each) => CliArgument.parse(each));
  const rows = [
    ...args.map(({ _name, description }) => [code(`<${_name}>`), description]),
    ...command.options.map((each) => CliOption.parse(each)).map(({ flags, description }) => [code(flags), description]),
  ];
  return `## ${words}\n\n${command.description()}\n\n${table(['option', 'meaning'], rows)}`;
}
