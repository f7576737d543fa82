import { declarationsOf, resolveImport, type SourceGraph } from '../../tools/src/source-graph.ts';

const OPTIONS_FILE = /^apps\/[^/]+\/src\/config\.ts$/;

const homeOf = (file: string): string => /^(?:(?:apps|packages)\/)?[^/]+/.exec(file)?.[0] ?? file;

/** Names of a package's entries that nobody outside the package imports, as `@flotilla/api/ran: Name`. */
export function unusedNames(graph: SourceGraph): string[] {
  const used = new Set<string>();
  for (const [file, { imports }] of graph.modules)
    for (const { to, names } of imports) {
      const entry = graph.entries.get(to);
      if (entry !== undefined && homeOf(file) !== homeOf(entry)) for (const name of names ?? ['*']) used.add(`${to}: ${name}`);
    }
  return [...graph.entries].flatMap(([entry, file]) =>
    used.has(`${entry}: *`)
      ? []
      : namesOf(graph, file)
          .map((name) => `${entry}: ${name}`)
          .filter((name) => !used.has(name)),
  );
}

/** Exports that no other file imports and no entry opens, as `path: name`. */
export function unusedExports(graph: SourceGraph): string[] {
  const used = new Set<string>();
  const use = (file: string, names?: readonly string[]): void => {
    for (const declared of declarationsOf(graph, file, names)) used.add(`${declared.file}: ${declared.name}`);
  };
  for (const [file, { imports }] of graph.modules)
    for (const { to, names } of imports) {
      const target = resolveImport(graph, file, to);
      if (target !== undefined) use(target, names);
    }
  for (const file of graph.entries.values()) use(file);
  return [...graph.modules].flatMap(([file, { exports }]) =>
    // A default export, and the options of a program, are for a tool that loads the file by its path.
    exports
      .filter(({ name, from }) => !from && name !== 'default' && !(name === 'options' && OPTIONS_FILE.test(file)))
      .map(({ name }) => `${file}: ${name}`)
      .filter((name) => !used.has(name)),
  );
}

function namesOf(graph: SourceGraph, file: string): string[] {
  const exports = graph.modules.get(file)?.exports ?? [];
  const names = exports.flatMap(({ name, from }) => {
    const target = name === '*' && from ? resolveImport(graph, file, from.to) : undefined;
    return target === undefined ? [name] : namesOf(graph, target);
  });
  return [...new Set(names)];
}
