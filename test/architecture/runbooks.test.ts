import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '../..');

/** Alerts of the charts' templates, each with the anchor that it links to. */
async function alerts(): Promise<{ readonly name: string; readonly anchor: string | undefined }[]> {
  const found: { name: string; anchor: string | undefined }[] = [];
  for (const chart of ['hub', 'spoke']) {
    const folder = join(root, 'charts', chart, 'templates');
    for (const file of await readdir(folder)) {
      if (!file.endsWith('.yaml')) continue;
      const [, ...parts] = (await readFile(join(folder, file), 'utf8')).split(/^\s+- alert: /m);
      for (const part of parts) {
        const anchor = /runbook_url: \{\{ (?:\$runbooks|\$\.Values\.runbooksUrl) \}\}#(\w+)$/m.exec(part)?.[1];
        found.push({ name: part.slice(0, part.indexOf('\n')), anchor });
      }
    }
  }
  return found;
}

test('each alert links to its entry of docs/runbooks.md, which says what it means, what to look at and what to do', async () => {
  const [, ...entries] = (await readFile(join(root, 'docs/runbooks.md'), 'utf8')).split(/^### /m);
  const byName = new Map(entries.map((entry) => [entry.slice(0, entry.indexOf('\n')), entry]));
  const found = await alerts();
  expect(found.length).toBeGreaterThan(30);
  expect([...byName.keys()].toSorted()).toEqual(found.map(({ name }) => name).toSorted());
  expect(found.filter(({ name, anchor }) => anchor !== name.toLowerCase())).toEqual([]);
  for (const [name, entry] of byName)
    expect(
      [...entry.matchAll(/^- \*\*([\w ]+):\*\* \S/gm)].map(([, word]) => word),
      name,
    ).toEqual(['Meaning', 'Look at', 'Fix']);
});

test.each(['hub', 'spoke'])('the alerts of chart %s link to the repository', async (chart) => {
  const { repository } = z.object({ repository: z.url() }).parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const { runbooksUrl } = z
    .looseObject({ runbooksUrl: z.url() })
    .parse(parse(await readFile(join(root, 'charts', chart, 'values.yaml'), 'utf8')));
  expect(runbooksUrl).toBe(`${repository}/blob/main/docs/runbooks.md`);
});
