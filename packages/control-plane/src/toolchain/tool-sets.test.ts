import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { moduleFolder } from './tool-sets.ts';

/** Modules of a set with the versions that a build takes. */
async function versionsOf(set: string): Promise<Map<string, string>> {
  const text = await readFile(join(moduleFolder(set), 'go.mod'), 'utf8');
  const required = [...text.matchAll(/^\s*(?:require )?([\w./~-]+\.[\w./~-]+) (v\S+)/gm)];
  const replaced = [...text.matchAll(/^\s*(?:replace )?\S+ => (\S+) (v\S+)/gm)];
  return new Map([...required, ...replaced].map(([, path = '', version = '']): [string, string] => [path, version]));
}

/** Modules whose newer packages these programs need. */
const NEWER = /^go\.(opentelemetry|etcd)\.io\//;

test.each(['etcd', 'registry', 'helm'])(
  '%s takes the versions of Kubernetes, so that a cold build compiles what they share once',
  async (set) => {
    const [own, kubernetes] = [await versionsOf(set), await versionsOf('kubernetes')];
    const shared = [...own].filter(([path]) => kubernetes.has(path) && !NEWER.test(path));
    expect(shared.length).toBeGreaterThan(20);
    expect(shared.filter(([path, version]) => kubernetes.get(path) !== version)).toEqual([]);
  },
);
