import { ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { findImportedAgain, formatImports, importCounts, readImports, withImportsOf } from './imports.ts';

const status = (clusters: readonly string[], clusterUids?: string) =>
  ClusterGroupUpgradeStatus.parse({ remediationPlan: [clusters], clusterUids });
const uids = (of: Readonly<Record<string, string>>) => (cluster: string) => of[cluster];
const noted = (of: Readonly<Record<string, string>>) =>
  status(Object.keys(of), formatImports(status(Object.keys(of)), new Map(), uids(of)));

test('a cluster with another uid was imported again; one that is absent was not', () => {
  const imports = readImports(noted({ b: 'uid-b', a: 'uid-a', c: 'uid-c' }));
  expect([...findImportedAgain(imports, uids({ a: 'uid-a', b: 'uid-new' }))]).toMatchObject([['b', { count: 1 }]]);
});

test('a status without uids, of other names, or cut, says nothing: what it holds is believed', () => {
  const before = noted({ a: 'uid-a', b: 'uid-b' });
  const others = [status(['a', 'b']), { ...before, remediationPlan: [['a', 'z']] }, { ...before, clusterUids: 'AAAA' }];
  for (const other of others) expect([...findImportedAgain(readImports(other), () => 'uid-new')]).toEqual([]);
});

test('a cluster that was not there when its name came is known from its first sight on', () => {
  const unseen = status(
    ['a'],
    formatImports(status(['a']), new Map(), () => undefined),
  );
  expect([...findImportedAgain(readImports(unseen), () => 'uid-a')]).toEqual([]);
  const seen = status(
    ['a'],
    formatImports(unseen, readImports(unseen), () => 'uid-a'),
  );
  expect([...findImportedAgain(readImports(seen), () => 'uid-new').keys()]).toEqual(['a']);
});

test('each import counts, and clusters keep their places when others come and go', () => {
  let now = noted({ a: 'uid-0', m: 'uid-m' });
  for (let count = 1; count <= 3; count += 1) {
    const again = findImportedAgain(readImports(now), uids({ a: `uid-${count}`, m: 'uid-m' }));
    const text = formatImports(now, new Map([...readImports(now), ...again]));
    const [first = [], ...rest] = now.remediationPlan ?? [];
    now = withImportsOf({ ...now, remediationPlan: [[...first, `b${count}`], ...rest] }, { ...now, clusterUids: text });
  }
  expect([...importCounts(now)]).toEqual([['a', 3]]);
  expect(readImports(now).get('m')).toEqual(readImports(noted({ m: 'uid-m' })).get('m'));
});

test('five characters a cluster', () => {
  const names = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`cluster-${index}`, `uid-${index}`]));
  expect(noted(names).clusterUids).toHaveLength(6 + 5 * 5000);
});
