import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { withHints } from './charts.ts';

const Schema = z.json();
const Pattern = z.object({ pattern: z.string(), examples: z.tuple([z.string()]) });

/** Nodes of a schema with a pattern. */
function patterns(node: z.output<typeof Schema>): unknown[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = !Array.isArray(node) && Pattern.partial().safeParse(node).data?.pattern !== undefined ? [node] : [];
  return [...own, ...Object.values(node).flatMap(patterns)];
}

test.each(['hub', 'spoke'])('each pattern of chart %s has an example of it', async (chart) => {
  const file = join(import.meta.dirname, '../../../charts', chart, 'values.schema.json');
  const found = patterns(Schema.parse(JSON.parse(await readFile(file, 'utf8'))));
  expect(found.length).toBeGreaterThan(10);
  for (const node of found) {
    const { pattern, examples } = Pattern.parse(node);
    expect(examples[0]).toMatch(new RegExp(pattern));
  }
});

test('names that differ in one letter are hinted at together', () => {
  const hinted = withHints({ type: 'object', additionalProperties: false, properties: { http: {}, https: {}, except: {} } });
  expect(hinted).toMatchObject({
    propertyNames: {
      allOf: [{ else: { enum: ['http', 'https'] } }, { else: { enum: ['http', 'https'] } }, { else: { enum: ['except'] } }],
    },
  });
});
