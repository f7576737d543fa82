import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { lintStructural } from '../testing/structural-lint.ts';
import { toStructural } from './structural.ts';

describe('toStructural', () => {
  test.each([
    { name: 'an int is int64 without bounds', given: z.int(), want: { type: 'integer', format: 'int64' } },
    { name: 'an int32 is int32 without bounds', given: z.int32(), want: { type: 'integer', format: 'int32' } },
    {
      name: 'bounds somebody chose are kept',
      given: z.int().min(1).max(9),
      want: { type: 'integer', format: 'int64', minimum: 1, maximum: 9 },
    },
    {
      name: 'a default makes the field optional',
      given: z.object({ a: z.boolean().default(true), b: z.string() }),
      want: { type: 'object', properties: { a: { type: 'boolean', default: true }, b: { type: 'string' } }, required: ['b'] },
    },
    {
      name: 'unknown keeps whatever comes',
      given: z.unknown().describe('Anything.'),
      want: { description: 'Anything.', 'x-kubernetes-preserve-unknown-fields': true },
    },
    {
      name: 'a loose object keeps fields it does not name',
      given: z.looseObject({ a: z.string() }),
      want: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], 'x-kubernetes-preserve-unknown-fields': true },
    },
    {
      name: 'a strict object is only an object',
      given: z.strictObject({ a: z.string().optional() }),
      want: { type: 'object', properties: { a: { type: 'string' } } },
    },
    {
      name: 'a record is a map',
      given: z.record(z.string(), z.enum(['A'])),
      want: { type: 'object', additionalProperties: { type: 'string', enum: ['A'] } },
    },
    {
      name: 'an intersection of objects is one object',
      given: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
      want: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a', 'b'] },
    },
    {
      name: 'limits of texts, lists and maps pass through',
      given: z
        .record(z.string(), z.array(z.string().meta({ maxLength: 3 })).meta({ maxItems: 2 }))
        .optional()
        .describe('Few.')
        .meta({ maxProperties: 1 }),
      want: {
        description: 'Few.',
        type: 'object',
        maxProperties: 1,
        additionalProperties: { type: 'array', maxItems: 2, items: { type: 'string', maxLength: 3 } },
      },
    },
    { name: 'null is nullable', given: z.string().nullable(), want: { type: 'string', nullable: true } },
    { name: 'a known format stands without its pattern', given: z.iso.datetime(), want: { type: 'string', format: 'date-time' } },
    {
      name: 'int-or-string has the one shape the server accepts',
      given: z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }),
      want: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    },
    {
      name: 'CEL rules pass through',
      given: z.string().meta({ 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] }),
      want: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
    },
  ])('$name', ({ given, want }) => {
    const schema = toStructural(given);
    expect(schema).toStrictEqual(want);
    expect(lintStructural(schema)).toEqual([]);
  });

  test.each([
    { name: 'a union', given: z.object({ a: z.union([z.string(), z.boolean()]) }), path: '$.a', what: 'anyOf' },
    { name: 'a discriminated union', given: z.discriminatedUnion('t', [z.object({ t: z.literal('x') })]), path: '$', what: 'Of' },
    { name: 'a shared definition', given: z.object({ a: z.string().meta({ id: 'Shared' }) }), path: '$.a', what: '$ref' },
    { name: 'a look-ahead', given: z.string().regex(/a(?=b)/), path: '$', what: 'pattern' },
    {
      name: 'named fields beside a typed rest',
      given: z.object({ a: z.string() }).catchall(z.string()),
      path: '$',
      what: 'additionalProperties',
    },
  ])('refuses $name and names the place', ({ given, path, what }) => {
    expect(() => toStructural(given)).toThrow(expect.objectContaining({ code: 'FLOTILLA_SCHEMA_NOT_STRUCTURAL' }));
    expect(() => toStructural(given)).toThrow(`${path}: `);
    expect(() => toStructural(given)).toThrow(what);
  });
});

describe('lintStructural', () => {
  it('names what the server would refuse', () => {
    const schema = {
      type: 'object',
      properties: { a: {}, b: { type: 'array' }, c: { type: 'object', additionalProperties: false, oneOf: [] } },
    };
    expect(lintStructural(schema)).toEqual(['$.a: type missing', '$.b: items missing', '$.c: oneOf', '$.c: additionalProperties: false']);
  });
});
