/** The page reads messages as the server does, though its zod is a smaller one. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import * as answers from '@flotilla/api/answers';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { pageSettings } from './build.ts';

const ENTRY = fileURLToPath(new URL('../../../packages/api/src/answers/index.ts', import.meta.url));

const PAGE = fileURLToPath(new URL('../../../apps/console/src', import.meta.url));

interface Schema {
  readonly _zod: { readonly def: object };
  readonly safeParse: (value: unknown) => { readonly success: boolean; readonly data?: unknown; readonly error?: z.ZodError };
}
const isSchema = (value: unknown): value is Schema => value instanceof z.ZodType;

/** The schemas as a browser gets them. */
async function loadPageSchemas(): Promise<Readonly<Record<string, Schema>>> {
  const built = await build({
    ...pageSettings(),
    build: { target: 'es2024', write: false, lib: { entry: ENTRY, formats: ['es'], fileName: 'answers' } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const [chunk] = output && 'output' in output ? output.output : [];
  if (chunk?.type !== 'chunk') throw new TypeError('nothing was built');
  return import(`data:text/javascript,${encodeURIComponent(chunk.code)}`);
}

const Def = z.looseObject({
  type: z.string(),
  entries: z.record(z.string(), z.string()).default({}),
  shape: z.custom<object>().default({}),
});

/** A value that a schema takes. */
function exampleOf(schema: unknown): unknown {
  if (!isSchema(schema)) throw new TypeError('no schema');
  const def = Def.parse(schema._zod.def);
  const of = (name: string): unknown => exampleOf(Reflect.get(def, name));
  switch (def.type) {
    case 'string':
      return 'text';
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'enum':
      return Object.values(def.entries)[0];
    case 'array':
      return [of('element')];
    case 'record':
      return { key: of('valueType') };
    case 'optional':
    case 'nullable':
      return of('innerType');
    case 'intersection':
      return Object.assign({}, of('left'), of('right'));
    case 'object':
      return Object.fromEntries(Object.keys(def.shape).map((name) => [name, exampleOf(Reflect.get(def.shape, name))]));
    default:
      throw new TypeError(`no example of ${def.type}: give one here`);
  }
}

const ODD: readonly unknown[] = [undefined, null, -1, 1.5, '', 'x'.repeat(600), false, [], Array(501).fill('x'), {}, { more: 1 }];

/** The value, and all that differ from it in one place. */
function* variantsOf(value: unknown): Generator<unknown> {
  yield value;
  yield* ODD;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value))
    for (const other of variantsOf(part)) yield Array.isArray(value) ? [other] : { ...value, [name]: other };
}

/** The verdict of a schema, without the words of a refusal. */
function verdictOf(schema: Schema, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value);
  return success ? { data } : { issues: error?.issues.map(({ code, path }) => ({ code, path })) };
}

const schemas = Object.entries(answers).flatMap(([name, schema]: [string, unknown]) => (isSchema(schema) ? [[name, schema] as const] : []));
const page = await loadPageSchemas();

test('every schema says of every value what it says on the server', () => {
  expect(schemas.length).toBeGreaterThan(20);
  const differences: unknown[] = [];
  const untaken: string[] = [];
  for (const [name, schema] of schemas) {
    const own = page[name];
    if (!own) throw new TypeError(`the page lacks ${name}`);
    const example = exampleOf(schema);
    if (!schema.safeParse(example).success) untaken.push(name);
    for (const value of variantsOf(example)) {
      const [server, browser] = [verdictOf(schema, value), verdictOf(own, value)];
      if (!isDeepStrictEqual(server, browser)) differences.push({ name, value, server, browser });
    }
  }
  expect(untaken).toEqual([]);
  expect(differences).toEqual([]);
});

test('schemas have each method that the page calls', async () => {
  const files = (await readdir(PAGE, { recursive: true })).filter((file) => /\.tsx?$/.test(file) && !file.includes('.test.'));
  const text = (await Promise.all(files.map((file) => readFile(join(PAGE, file), 'utf8')))).join('\n');
  const called = schemas.flatMap(([name]) =>
    [...text.matchAll(RegExp(`\\b${name}\\.(\\w+)`, 'g'))].map(([, member = '']) => ({ name, member })),
  );
  expect(called).toContainEqual({ name: 'WindowParts', member: 'keyof' });
  expect(called.filter(({ name, member }) => !(member in (page[name] ?? {})))).toEqual([]);
});
