import { readdir, readFile } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import { parseAst } from 'vite';
import { z } from 'zod';

/** What a source takes from another: some names, or all of them. */
interface Import {
  /** As it is written: `./a.ts`, `@flotilla/api/ran`. */
  readonly to: string;
  /** Undefined for the whole module: a namespace, an `import()`, an import for its effect. */
  readonly names?: readonly string[];
}

/** A name that a source exports. */
interface Export {
  readonly name: string;
  /** Where it comes from when it is re-exported. `*` as a name stands for all of them. */
  readonly from?: { readonly to: string; readonly name: string };
}

/** A source as the graph sees it. */
interface Module {
  readonly text: string;
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
  /** Programs that it starts or forks by their place. */
  readonly started: readonly string[];
}

/** Sources of the repository by path, and where each entry of a package (`@flotilla/api/ran`) leads. */
export interface SourceGraph {
  readonly modules: ReadonlyMap<string, Module>;
  readonly entries: ReadonlyMap<string, string>;
}

const Package = z.looseObject({ name: z.string(), exports: z.record(z.string(), z.string()).default({}) });

/** Folders that hold sources. */
const TOPS = ['apps', 'packages', 'demo', 'tools', 'test'];

/** Reads and parses every TypeScript source of the repository. */
export async function readSourceGraph(root: string): Promise<SourceGraph> {
  const texts = new Map<string, string>();
  const entries = new Map<string, string>();
  for (const top of TOPS)
    for (const entry of await readdir(join(root, top), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const file = relative(root, path).replaceAll(sep, '/');
      if (!entry.isFile() || file.includes('node_modules/')) continue;
      if (/\.tsx?$/.test(file)) texts.set(file, await readFile(path, 'utf8'));
      if (!file.endsWith('/package.json')) continue;
      const { name, exports } = Package.parse(JSON.parse(await readFile(path, 'utf8')));
      for (const [key, target] of Object.entries(exports)) entries.set(posix.join(name, key), posix.join(posix.dirname(file), target));
    }
  texts.set('vitest.config.ts', await readFile(join(root, 'vitest.config.ts'), 'utf8'));
  return graphOf(texts, entries);
}

/** The graph of these sources. */
export function graphOf(texts: ReadonlyMap<string, string>, entries: ReadonlyMap<string, string> = new Map()): SourceGraph {
  return { modules: new Map([...texts].map(([file, text]) => [file, parseModule(text, file.endsWith('x') ? 'tsx' : 'ts')])), entries };
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;
/** An identifier, or a name in quotes. */
const Name = z.union([
  z.looseObject({ name: z.string() }),
  z.looseObject({ value: z.string() }).transform(({ value }) => ({ name: value })),
]);
const nameOf = (node: unknown): string => Name.parse(node).name;
const nodes = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.filter(isNode) : []);

const childrenOf = (node: Node): Node[] => Object.values(node).flatMap((value) => (isNode(value) ? [value] : nodes(value)));

/** What a source imports and exports. */
export function parseModule(text: string, lang: 'ts' | 'tsx' = 'ts'): Module {
  const imports: Import[] = [];
  const exports: Export[] = [];
  const visit = (node: Node): void => {
    const to = sourceOf(node);
    if (to !== undefined && /^Import(Declaration|Expression)|^TSImportType/.test(node.type))
      imports.push({ to, names: node.type === 'ImportDeclaration' ? importedNames(nodes(node.specifiers)) : undefined });
    childrenOf(node).forEach(visit);
  };
  for (const node of nodes(parseAst(text, { lang }).body)) {
    visit(node);
    exports.push(...exportsIn(node));
  }
  const started = [...text.matchAll(/new URL\('(\.[^']+\.ts)', import\.meta\.url/g)].map(([, to = '']) => to);
  return { text, imports, exports, started };
}

const sourceOf = ({ source }: Node): string | undefined => (isNode(source) && 'value' in source ? String(source.value) : undefined);

function exportsIn(node: Node): Export[] {
  const to = sourceOf(node);
  if (node.type === 'ExportDefaultDeclaration') return [{ name: 'default' }];
  if (node.type === 'ExportAllDeclaration') return to === undefined ? [] : [{ name: '*', from: { to, name: '*' } }];
  if (node.type !== 'ExportNamedDeclaration') return [];
  const listed = nodes(node.specifiers).map(({ local, exported }) => ({
    name: nameOf(exported),
    ...(to !== undefined && { from: { to, name: nameOf(local) } }),
  }));
  return [...listed, ...(isNode(node.declaration) ? declaredNames(node.declaration) : []).map((name) => ({ name }))];
}

function importedNames(specifiers: readonly Node[]): readonly string[] | undefined {
  if (specifiers.length === 0 || specifiers.some(({ type }) => type === 'ImportNamespaceSpecifier')) return undefined;
  return specifiers.map(({ type, imported }) => (type === 'ImportDefaultSpecifier' ? 'default' : nameOf(imported)));
}

function declaredNames({ id, declarations }: Node): string[] {
  return [id, ...nodes(declarations).map((each) => each.id)].filter((each) => isNode(each) && each.type === 'Identifier').map(nameOf);
}

/** Specifiers that a source imports or re-exports. */
export const specifiersOf = ({ imports, exports }: Module): string[] => [
  ...new Set([...imports.map(({ to }) => to), ...exports.flatMap(({ from }) => from?.to ?? [])]),
];

/** The file that a specifier leads to; undefined outside the repository. */
export function resolveImport({ modules, entries }: SourceGraph, from: string, to: string): string | undefined {
  const file = to.startsWith('.') ? posix.join(posix.dirname(from), to) : entries.get(to);
  return file !== undefined && modules.has(file) ? file : undefined;
}

/** Where the names that are taken from a file are declared: re-exports are followed by name. Without names: all of them. */
export function declarationsOf(
  graph: SourceGraph,
  file: string,
  names?: readonly string[],
  seen = new Set<string>(),
): { file: string; name: string }[] {
  const found: { file: string; name: string }[] = [];
  for (const { name, from } of graph.modules.get(file)?.exports ?? []) {
    if (names && name !== '*' && !names.includes(name)) continue;
    const target = from && resolveImport(graph, file, from.to);
    const key = `${file} ${name} ${target} ${from?.name} ${names?.join()}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (target === undefined) found.push({ file, name });
    else found.push(...declarationsOf(graph, target, from?.name === '*' ? names : [from?.name ?? name], seen));
  }
  return found;
}

/** Every file that these files need, themselves included. What an index re-exports and nobody takes from it is not needed. */
export function reachedFrom(graph: SourceGraph, starts: Iterable<string>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...starts];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const { imports = [], started = [] } = graph.modules.get(file) ?? {};
    for (const { to, names } of [...imports, ...started.map((each): Import => ({ to: each }))]) {
      const target = resolveImport(graph, file, to);
      if (target !== undefined) open.push(target, ...declarationsOf(graph, target, names).map((each) => each.file));
    }
  }
  return reached;
}

/** Whether a source is a test, or what tests share. */
export const isTestSource = (file: string): boolean =>
  /\.test\.tsx?$|^test\/|^(apps|packages)\/[^/]+\/testing\/|^packages\/control-plane\//.test(file);

/** The programs that are shipped, and what their charts are generated from. */
export function productMains(graph: SourceGraph): string[] {
  return [...graph.modules.keys()].filter((file) => /^apps\/[^/]+\/src\/main\.tsx?$/.test(file) || file === 'tools/src/generate.ts');
}

/** How many lines each function of a source has, by its name or that of the variable or member that holds it. */
export function functionLines(text: string, lang: 'ts' | 'tsx' = 'ts'): { readonly name: string; readonly lines: number }[] {
  const found: { name: string; lines: number }[] = [];
  const visit = (node: Node, holder: string): void => {
    const name = node.id ?? node.key;
    const called = isNode(name) && 'name' in name ? String(name.name) : holder;
    if (/^(Function|ArrowFunction)/.test(node.type)) {
      const lines = text.slice(Number(node.start), Number(node.end)).split('\n').length;
      if (node.body) found.push({ name: called || '(without a name)', lines });
    }
    for (const child of childrenOf(node)) visit(child, node.type === 'BlockStatement' ? '' : called);
  };
  for (const node of nodes(parseAst(text, { lang }).body)) visit(node, '');
  return found;
}
