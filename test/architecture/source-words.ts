import { readdir, readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseAst } from 'vite';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '../..');

/** A syntax node, as far as it is walked. */
const Node = z.looseObject({ type: z.string() });
type Node = z.output<typeof Node>;

/** A source file of a program. */
interface Source {
  readonly path: string;
  readonly text: string;
}

/** Sources of all programs: no tests, and nothing that only tests use. */
export async function programSources(): Promise<Source[]> {
  const entries = await Promise.all(['packages', 'apps'].map((top) => readdir(join(root, top), { recursive: true, withFileTypes: true })));
  const paths = entries
    .flat()
    .filter((entry) => entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => /^(apps|packages)\/[^/]+\/src\//.test(path) && !path.startsWith('packages/control-plane/'));
  return Promise.all(paths.toSorted().map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })));
}

/** Functions that take a reason as an argument. */
const MAKERS = new Set(['warns', 'blocks', 'refuseUnless', 'retrievalFailed', 'because', 'verdict', 'unread', 'error']);
/** A status has the form of a reason too. */
const STATUSES = new Set(['True', 'False', 'Unknown']);
const A_REASON = /^[A-Z][A-Za-z]+$/;

/** Reasons that a source gives to conditions and events: `reason: 'X'`, its type, and arguments of what makes conditions. */
export function reasonsIn({ text }: Source): string[] {
  const found: string[] = [];
  visit(parseAst(text, { lang: 'ts' }), (node) => {
    if (node.type === 'Property' && nameOf(node.key) === 'reason') found.push(...literalsOf(node.value));
    if (node.type === 'TSPropertySignature' && nameOf(node.key) === 'reason') found.push(...typeLiterals(node.typeAnnotation));
    if (node.type === 'CallExpression' && MAKERS.has(nameOf(node.callee))) found.push(...argumentsOf(node).flatMap(literalsOf));
    if (node.type === 'CallExpression' && nameOf(node.callee) === 'event') found.push(...argumentsOf(node).slice(1, 2).flatMap(firstOf));
    if (node.type === 'VariableDeclarator' && /Reasons?$/.test(nameOf(node.id)))
      visit(node.init, (inner) => found.push(...propertyValue(inner)));
  });
  return found.filter((word) => A_REASON.test(word) && !STATUSES.has(word));
}

const argumentsOf = (node: Node): unknown[] => (Array.isArray(node.arguments) ? node.arguments : []);
/** The reason of `[reason, action]`. */
const firstOf = (given: unknown): string[] => {
  const node = Node.safeParse(given).data;
  return node?.type === 'ArrayExpression' && Array.isArray(node.elements) ? literalsOf(node.elements[0]) : [];
};
const propertyValue = (node: Node): string[] => (node.type === 'Property' ? literalsOf(node.value) : []);

function nameOf(given: unknown): string {
  const node = Node.safeParse(given).data;
  if (node?.type === 'MemberExpression') return nameOf(node.property);
  return typeof node?.name === 'string' ? node.name : '';
}

function literalsOf(given: unknown): string[] {
  const node = Node.safeParse(given).data;
  if (!node) return [];
  if (node.type === 'Literal' && typeof node.value === 'string') return [node.value];
  if (node.type === 'ConditionalExpression') return [...literalsOf(node.consequent), ...literalsOf(node.alternate)];
  if (node.type === 'LogicalExpression') return [...literalsOf(node.left), ...literalsOf(node.right)];
  return node.type === 'TSAsExpression' ? literalsOf(node.expression) : [];
}

function typeLiterals(given: unknown): string[] {
  const found: string[] = [];
  visit(given, (node) => {
    if (node.type === 'TSLiteralType') found.push(...literalsOf(node.literal));
  });
  return found;
}

function visit(given: unknown, look: (node: Node) => void): void {
  if (Array.isArray(given)) {
    for (const each of given) visit(each, look);
    return;
  }
  const node = Node.safeParse(given).data;
  if (!node) return;
  look(node);
  for (const value of Object.values(node)) if (typeof value === 'object' && value !== null) visit(value, look);
}
