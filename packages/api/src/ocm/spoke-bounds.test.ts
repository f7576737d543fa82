import { describe, expect, test } from 'vitest';
import type { StructuralSchema } from '../structural.ts';
import { managedClusterActionSchema, managedClusterSchema, managedClusterViewSchema, manifestWorkSchema } from './crd-schemas.ts';

/** Finds every place in a schema that accepts any number of bytes. */
function unboundedIn(schema: StructuralSchema, path: string): string[] {
  const { type, properties = {}, items, additionalProperties } = schema;
  const children = Object.entries(properties as Record<string, StructuralSchema>).flatMap(([key, child]) =>
    unboundedIn(child, `${path}.${key}`),
  );
  const isText = type === 'string' || schema['x-kubernetes-int-or-string'] === true;
  const isBounded = schema.enum !== undefined || schema.format !== undefined || schema.maxLength !== undefined;
  return [
    ...(isText && !isBounded ? [path] : []),
    ...(type === 'array' && schema.maxItems === undefined ? [path] : []),
    ...(additionalProperties !== undefined && schema.maxProperties === undefined ? [path] : []),
    ...(schema['x-kubernetes-preserve-unknown-fields'] === true ? [path] : []),
    ...children,
    ...(items === undefined ? [] : unboundedIn(items as StructuralSchema, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : unboundedIn(additionalProperties as StructuralSchema, `${path}{}`)),
  ];
}

describe('the schema bounds every write of a spoke', () => {
  test.each([
    { name: 'the status of its cluster', schema: managedClusterSchema.status, open: [] },
    { name: 'the status of a work', schema: manifestWorkSchema.status, open: [] },
    // Any object: these two have no finalizer and are never changed, and admission bounds them as a whole.
    { name: 'the status of an action', schema: managedClusterActionSchema.status, open: ['status.result'] },
    { name: 'the status of a view', schema: managedClusterViewSchema.status, open: ['status.result'] },
  ])('$name', ({ schema, open }) => expect(unboundedIn(schema, 'status')).toEqual(open));

  test('the search finds what has no bound', () => {
    const properties = {
      a: { type: 'string' },
      b: { type: 'array', items: { type: 'string' } },
      c: { type: 'object', additionalProperties: { type: 'string' } },
    };
    expect(unboundedIn({ type: 'object', properties }, 's')).toEqual(['s.a', 's.b', 's.b[]', 's.c', 's.c{}']);
  });
});
