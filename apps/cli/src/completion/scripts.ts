import type { CommandRow } from './table.ts';

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
