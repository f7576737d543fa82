import { Argument, Command } from 'commander';

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** `flotilla completion`: the script that completes commands and options in a shell. */
export const completionCommand = (): Command =>
  new Command('completion')
    .description('Prints the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action((shell: (typeof shells)[number], _options: unknown, command: Command) => {
      process.stdout.write(scripts[shell](commandTable(command.parent ?? command)));
    });

/** Names under which the program is called. */
const NAMES = ['flotilla', 'kubectl-flotilla'];

/** Shell → completion script of these commands. A word that completes nothing completes files. */
export const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript, powershell: powershellScript } as const satisfies Record<
  string,
  (rows: readonly CommandRow[]) => string
>;

/** Paths as patterns of `case`: the words so far are a command. */
const paths = (rows: readonly CommandRow[]): string[] => rows.flatMap(({ path }) => (path === '' ? [] : [path]));
const words = ({ commands, options }: CommandRow): string => [...commands, ...options].map(({ word }) => word).join(' ');

function bashScript(rows: readonly CommandRow[]): string {
  return `# Completion of flotilla for bash: source it, or put it into /etc/bash_completion.d.
_flotilla() {
  local place= words= word try
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    try="\${place:+$place }$word"
    case "$try" in
      ${paths(rows)
        .map((path) => `"${path}"`)
        .join('|')}) place=$try ;;
    esac
  done
  case "$place" in
${rows.map((row) => `    "${row.path}") words="${words(row)}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  case "$place \${COMP_WORDS[COMP_CWORD-1]}" in
${withValues(rows, ({ path, word }) => `"${path} ${word}"`)}) COMPREPLY=() ;;
  esac
}
complete -o default -F _flotilla ${NAMES.join(' ')}
`;
}

const withValues = (rows: readonly CommandRow[], pattern: (option: { path: string; word: string }) => string): string =>
  `    ${rows
    .flatMap(({ path, options }) => options.filter(({ takesValue }) => takesValue).map(({ word }) => pattern({ path, word })))
    .join('|')}`;

function zshScript(rows: readonly CommandRow[]): string {
  const described = ({ commands, options }: CommandRow) =>
    [...commands, ...options].map(({ word, meaning }) => `'${word}:${meaning}'`).join(' ');
  return `#compdef ${NAMES.join(' ')}
# Completion of flotilla for zsh: put it as _flotilla into a folder of fpath.
_flotilla() {
  local place= word try
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    try="\${place:+$place }$word"
    case "$try" in
      (${paths(rows)
        .map((path) => `"${path}"`)
        .join('|')}) place=$try ;;
    esac
  done
  case "$place \${words[CURRENT-1]}" in
(${withValues(rows, ({ path, word }) => `"${path} ${word}"`).trim()}) _files; return ;;
  esac
  case "$place" in
${rows.map((row) => `    ("${row.path}") entries=(${described(row)}) ;;`).join('\n')}
  esac
  _describe 'flotilla' entries || _files
}
_flotilla "$@"
`;
}

function fishScript(rows: readonly CommandRow[]): string {
  const lines = rows.flatMap(({ path, commands, options }) => {
    const at = (name: string) => `complete -c ${name} -n 'test "$(__flotilla_place)" = "${path}"'`;
    return NAMES.flatMap((name) => [
      ...commands.map(({ word, meaning }) => `${at(name)} -f -a ${word} -d '${meaning}'`),
      ...options.map(({ word, meaning, takesValue }) => `${at(name)} -l ${word.slice(2)}${takesValue ? ' -r' : ''} -d '${meaning}'`),
    ]);
  });
  return `# Completion of flotilla for fish: put it as flotilla.fish into ~/.config/fish/completions.
function __flotilla_place
  set -l place
  for word in (commandline -opc)[2..-1]
    set -l try (string trim -- "$place $word")
    switch "$try"
      case ${paths(rows)
        .map((path) => `"${path}"`)
        .join(' ')}
        set place $try
    end
  end
  echo $place
end
${lines.join('\n')}
`;
}

function powershellScript(rows: readonly CommandRow[]): string {
  const entries = rows.map(({ path, commands, options }) => {
    const described = [...commands, ...options].map(({ word, meaning }) => `'${word}|${meaning || word}'`);
    return `    '${path}' = @(${described.join(', ')})`;
  });
  const values = rows.flatMap(({ path, options }) => options.filter(({ takesValue }) => takesValue).map(({ word }) => `'${path} ${word}'`));
  return `# Completion of flotilla for PowerShell: run it from $PROFILE.
Register-ArgumentCompleter -Native -CommandName ${NAMES.map((name) => `'${name}'`).join(', ')} -ScriptBlock {
  param($word, $ast, $cursor)
  $entries = @{
${entries.join('\n')}
  }
  $withValue = @(${values.join(', ')})
  $place = ''
  $last = ''
  foreach ($element in ($ast.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursor) { break }
    $last = $element.Extent.Text
    $try = "$place $last".Trim()
    if ($entries.ContainsKey($try)) { $place = $try }
  }
  if ($withValue -contains "$place $last") { return }
  foreach ($entry in $entries[$place]) {
    $name, $meaning = $entry -split '\\|', 2
    if ($name.StartsWith($word)) { [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $meaning) }
  }
}
`;
}

/** A command as completion needs it. */
interface CommandRow {
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
function commandTable(command: Command, path = ''): CommandRow[] {
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
