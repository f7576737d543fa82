import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CrdManifest } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { managedCrds } from '@flotilla/api/managed';
import { clusterSetCrds, transportCrds } from '@flotilla/api/ocm';
import { ranCrds } from '@flotilla/api/ran';
import { z } from 'zod';
import { keysOf, reasonLinks } from './by-hand.ts';
import { kindConditions } from './conditions.ts';
import { root } from './load-app.ts';
import { code, page, table } from './markdown.ts';

/** A node of a structural schema, as far as the page reads it. */
interface Node {
  readonly [keyword: string]: unknown;
  readonly type?: string | undefined;
  readonly description?: string | undefined;
  readonly properties?: Readonly<Record<string, Node>> | undefined;
  readonly items?: Node | undefined;
  readonly additionalProperties?: Node | undefined;
  readonly required?: readonly string[] | undefined;
}
const Node: z.ZodType<Node> = z.lazy(() =>
  z.looseObject({
    type: z.string().optional(),
    description: z.string().optional(),
    properties: z.record(z.string(), Node).optional(),
    items: Node.optional(),
    additionalProperties: Node.optional(),
    required: z.array(z.string()).optional(),
  }),
);
const CrdSpec = z.looseObject({
  group: z.string(),
  scope: z.string(),
  names: z.looseObject({ kind: z.string(), plural: z.string(), shortNames: z.array(z.string()).optional() }),
  versions: z.tuple([z.looseObject({ name: z.string(), schema: z.object({ openAPIV3Schema: Node }) })]),
});

/** The group that a CRD's page says it is of, and the CRDs of the group. */
const GROUPS: Readonly<Record<string, () => readonly CrdManifest[]>> = {
  'Written by users on the hub': ranCrds,
  'Written by users on a cluster': managedCrds,
  'The version of a cluster': configCrds,
  'What hub and clusters talk through; on a hub with RHACM they are its own': () => [...transportCrds(), ...clusterSetCrds()],
};

/** A kind of the reference, with the example that its page shows. */
interface KindPage {
  readonly kind: string;
  readonly path: string;
  readonly example: string;
  readonly render: () => Promise<string>;
}

/** A page for each kind. */
export const kindPages = (): KindPage[] => Object.values(GROUPS).flatMap((crds) => crds().map(kindPage));

function kindPage(crd: CrdManifest): KindPage {
  const { names } = CrdSpec.parse(crd.spec);
  const example = `examples/kinds/${names.kind.toLowerCase()}.yaml`;
  const path = `docs/reference/kinds/${names.kind.toLowerCase()}.md`;
  return { kind: names.kind, path, example, render: async () => renderKind(crd, await readFile(join(root, example), 'utf8')) };
}

function renderKind(crd: CrdManifest, example: string): string {
  const { group, scope, names, versions } = CrdSpec.parse(crd.spec);
  const [{ name: version, schema }] = versions;
  const { properties = {}, description = '' } = schema.openAPIV3Schema;
  const shortNames = (names.shortNames ?? []).map(code).join(', ');
  const parts = Object.entries(properties)
    .filter(([name, node]) => !['apiVersion', 'kind', 'metadata'].includes(name) && node.properties)
    .map(([name, node]) => `## ${name}\n\n${fieldTable(node, name)}`);
  const keys = keysOf(names.kind);
  return page(
    names.kind,
    description,
    `\`${group}/${version}\`, ${scope === 'Namespaced' ? 'namespaced' : 'cluster-scoped'}${shortNames && `, short ${shortNames}`}.`,
    `## Example\n\n\`\`\`yaml\n${example.trimEnd()}\n\`\`\``,
    ...conditionsPart(names.kind),
    ...(keys === '' ? [] : [`## Annotations and labels\n\n${keys}`]),
    ...parts,
  );
}

function conditionsPart(kind: string): string[] {
  const conditions = kindConditions[kind];
  if (!conditions) return [];
  const rows = Object.entries(conditions.types).map(([type, meaning]) => [code(type), meaning]);
  const links = reasonLinks(kind).join(', ');
  return [`## Conditions\n\n${conditions.where}${links && ` Reasons: ${links}.`}\n\n${table(['type', 'True says'], rows)}`];
}

const fieldTable = (node: Node, at: string): string =>
  table(
    ['field', 'type', 'default', 'limits', 'description'],
    [...fieldsOf(node, at)].map(({ path, type, byDefault, limits, description }) => [
      code(path),
      type,
      byDefault === undefined ? '' : code(JSON.stringify(byDefault)),
      limits,
      description,
    ]),
  );

/** A row of a kind's table. */
interface Field {
  readonly path: string;
  readonly type: string;
  readonly byDefault: unknown;
  readonly limits: string;
  readonly description: string;
}

function* fieldsOf({ properties = {}, required = [] }: Node, at: string): Generator<Field> {
  for (const [name, node] of Object.entries(properties)) {
    const path = `${at}.${name}`;
    const limits = [required.includes(name) ? 'required' : '', ...limitsOf(node)].filter(Boolean).join('; ');
    yield { path, type: typeOf(node), byDefault: node.default, limits, description: node.description ?? '' };
    const { node: inner, suffix } = innermost(node);
    yield* fieldsOf(inner, `${path}${suffix}`);
  }
}

/** The object that lists and maps end in. */
function innermost(node: Node, suffix = ''): { readonly node: Node; readonly suffix: string } {
  if (node.items) return innermost(node.items, `${suffix}[]`);
  return node.additionalProperties ? innermost(node.additionalProperties, `${suffix}.*`) : { node, suffix };
}

function typeOf(node: Node): string {
  if (node['x-kubernetes-int-or-string']) return 'int or string';
  if (node.items) return `list of ${typeOf(node.items)}`;
  if (node.additionalProperties) return `map of ${typeOf(node.additionalProperties)}`;
  return typeof node.format === 'string' && node.type === 'string' ? node.format : (node.type ?? 'any');
}

const LIMITS: Readonly<Record<string, string>> = {
  minimum: 'at least',
  maximum: 'at most',
  minLength: 'characters at least',
  maxLength: 'characters at most',
  minItems: 'items at least',
  maxItems: 'items at most',
  maxProperties: 'entries at most',
  pattern: 'pattern',
};

const Rules = z.array(z.looseObject({ message: z.string().optional(), rule: z.string() }));

const limitWords = (limit: unknown): string[] => (typeof limit === 'string' || typeof limit === 'number' ? [String(limit)] : []);

/** Limits of a field, and of the entries of a list. */
function limitsOf(node: Node, of = ''): string[] {
  const own = Object.entries(LIMITS).flatMap(([keyword, words]) =>
    limitWords(node[keyword]).map((limit) => `${of}${words} ${keyword === 'pattern' ? code(limit) : limit}`),
  );
  const values = z.array(z.unknown()).safeParse(node.enum).data ?? [];
  const choice = values.length === 0 ? [] : [`${of}one of ${values.map((value) => code(JSON.stringify(value))).join(', ')}`];
  const rules = (Rules.safeParse(node['x-kubernetes-validations']).data ?? []).map(({ message, rule }) => message ?? code(rule));
  const inner = node.items ?? node.additionalProperties;
  return [...own, ...choice, ...rules, ...(inner && !inner.properties ? limitsOf(inner, 'each: ') : [])];
}

/** `docs/reference/kinds/README.md`. */
export function kindsIndex(): string {
  const parts = Object.entries(GROUPS).map(([title, crds]) => {
    const rows = crds().map((crd) => {
      const { group, names, versions } = CrdSpec.parse(crd.spec);
      const { description = '' } = versions[0].schema.openAPIV3Schema;
      return [`[${names.kind}](${names.kind.toLowerCase()}.md)`, code(`${group}/${versions[0].name}`), description];
    });
    return `## ${title}\n\n${table(['kind', 'group', 'meaning'], rows)}`;
  });
  return page('Kinds', ...parts);
}
