/**
 * Shapes of public policies: kinds of templates with their fields, expressions in plain values, and raw texts, with every name and value replaced
 * by `w`. All are taken: the policy framework takes them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildPolicy, configurationPolicy, objectTemplate } from '../../testing/policy-builders.ts';
import { readIndexes, readPackages } from '../software/policy-software.ts';
import { objectDefinitions } from './policy-structure.ts';

const Shapes = z.object({
  templates: z.record(z.string(), z.number()),
  values: z.array(z.string()),
  raw: z.array(z.array(z.string())),
});
const text = readFileSync(join(import.meta.dirname, '../../testing/public-policy-shapes.json'), 'utf8');
const shapes = Shapes.parse(JSON.parse(text));

const read = (...templates: unknown[]) => objectDefinitions(buildPolicy('p', { spec: { 'policy-templates': templates } }));
/** Fields of which the reader wants more than that they are there. */
const FIELDS: Readonly<Record<string, unknown>> = {
  'object-templates': [objectTemplate({ kind: 'A' })],
  'object-templates-raw': '- objectDefinition: {kind: A}',
  subscription: { name: 'n', namespace: 'ns', channel: 'c' },
  complianceType: 'musthave',
};

test.each(Object.keys(shapes.templates))('a template of %s', (shape) => {
  const [kind = '', fields = ''] = shape.split(': ');
  const spec = Object.fromEntries(fields.split(' ').map((field) => [field, FIELDS[field] ?? {}]));
  const apiVersion = 'policy.open-cluster-management.io/v1beta1';
  const { objects, unread, invalid } = read({ objectDefinition: { apiVersion, kind, metadata: { name: 'w' }, spec } });
  expect({ unread, invalid }).toEqual({});
  const isRead = kind === 'ConfigurationPolicy' || kind === 'OperatorPolicy';
  expect(objects).toHaveLength(isRead ? 1 : 0);
  const packages = readPackages([{ name: 'p', objects: objects ?? [] }]);
  expect(packages).toEqual({ values: kind === 'OperatorPolicy' ? ['n:c'] : [] });
});

test('expressions in plain values are no mistake, and name no software by themselves', () => {
  const values = shapes.values.map((value) => objectTemplate({ kind: 'A', spec: { value } }));
  const { objects = [], ...problems } = read(configurationPolicy({ 'object-templates': values }));
  expect(problems).toEqual({});
  expect(objects).toHaveLength(values.length);
  expect([readPackages, readIndexes].map((from) => from([{ name: 'p', objects }]))).toEqual([{ values: [] }, { values: [] }]);
});

test.each(shapes.raw.map((lines) => ({ first: lines[0], raw: lines.join('\n') })))('a raw text that begins with $first', ({ raw }) => {
  const { objects, ...problems } = read(configurationPolicy({ 'object-templates-raw': raw }));
  expect(problems).toEqual({});
  expect(objects).not.toEqual([]);
});
