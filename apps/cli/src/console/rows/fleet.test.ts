import type { Rights } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { createClient } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { Fleet } from './fleet.ts';
import { Sources } from './sources.ts';

const rights: Rights = { upgrades: null, spokes: null, lease: null, steerUpgrades: null, steerSpokes: null };
const NOW = Date.parse('2026-12-05T22:00:00Z');

/** A fleet that is told of objects, and asks no server. */
function fleetOf() {
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: {} }],
    'current-context': 'x',
  });
  const sources = new Sources({ client: createClient({ kubeconfig, userAgent: 'test' }), rights, hubNamespace: 'flotilla' });
  const fleet = new Fleet(sources);
  let version = 0;
  const metadata = (name: string, more: object) => ({ name, uid: name, resourceVersion: String(++version), ...more });
  return {
    fleet,
    spoke: (name: string, labels = {}) => sources.clusters.wrote(ManagedCluster.schema.parse({ metadata: metadata(name, { labels }) })),
    upgrade: (name: string, status: object, creationTimestamp: string, annotations = {}) =>
      sources.upgrades.wrote(
        ClusterGroupUpgrade.schema.parse({ metadata: metadata(name, { namespace: 'a', creationTimestamp, annotations }), status }),
      ),
    gone: (name: string) => sources.upgrades.deleted({ namespace: 'a', name }, name),
    changes: () => fleet.takeChanges(NOW).message,
  };
}

const running = {
  conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: 'x', lastTransitionTime: '2026-12-05T21:00:00Z' }],
  remediationPlan: [['s1'], ['s2']],
  status: {
    currentBatch: 1,
    currentBatchStartedAt: '2026-12-05T21:00:00Z',
    currentBatchRemediationProgress: { s1: { state: 'InProgress' } },
  },
};
const ended = {
  conditions: [{ type: 'Succeeded', status: 'True', reason: 'Completed', message: 'x', lastTransitionTime: '2026-12-05T21:30:00Z' }],
  remediationPlan: [['s1'], ['s2']],
  clusters: [
    { name: 's1', state: 'complete' },
    { name: 's2', state: 'complete' },
  ],
  status: { completedAt: '2026-12-05T21:30:00Z' },
};

test('a spoke shows the upgrade that goes on, then the latest, and none when they are gone', () => {
  const { fleet, spoke, upgrade, gone, changes } = fleetOf();
  spoke('s1');
  spoke('s2');
  upgrade('first', running, '2026-12-01T00:00:00Z');
  upgrade('later', ended, '2026-12-02T00:00:00Z');
  expect(changes().spokes?.rows.map(({ key, upgrade: of, state }) => [key, of, state])).toEqual([
    ['s1', 'a/first', 'in-batch'],
    ['s2', 'a/first', 'waiting'],
  ]);
  upgrade('first', ended, '2026-12-01T00:00:00Z');
  expect(changes().spokes?.cells).toEqual([
    expect.objectContaining({ key: 's1', upgrade: 'a/later', state: 'done' }),
    expect.objectContaining({ key: 's2', upgrade: 'a/later', state: 'done' }),
  ]);
  expect(fleet.partsOf('s1').map(({ upgrade: of }) => of)).toEqual(['a/later', 'a/first']);
  gone('first');
  gone('later');
  const last = changes();
  expect(last.upgrades?.gone).toEqual(['a/later', 'a/first'].toSorted());
  expect(last.spokes?.cells).toEqual([
    expect.objectContaining({ key: 's1', upgrade: null, state: 'none' }),
    expect.objectContaining({ key: 's2', upgrade: null, state: 'none' }),
  ]);
});

test('a spoke that has failed shows that, whatever came later, until a retry of that upgrade has it', () => {
  const { fleet, spoke, upgrade, gone, changes } = fleetOf();
  spoke('s1');
  const lost = { ...ended, remediationPlan: [['s1']], clusters: [{ name: 's1', state: 'timedout' }] };
  upgrade('lost', lost, '2026-12-01T00:00:00Z');
  upgrade('later', ended, '2026-12-02T00:00:00Z');
  expect(changes().spokes?.rows).toContainEqual(expect.objectContaining({ key: 's1', upgrade: 'a/lost', state: 'failed' }));
  upgrade('goes-on', running, '2026-12-03T00:00:00Z');
  expect(changes().spokes?.cells.map(({ key }) => key)).toEqual(['s2']);
  expect(fleet.partsOf('s1').map(({ upgrade: of }) => of)).toEqual(['a/lost', 'a/goes-on', 'a/later']);
  upgrade('again', ended, '2026-12-04T00:00:00Z', { 'flotilla.io/retry-of': 'a/lost' });
  gone('goes-on');
  expect(changes().spokes?.cells).toContainEqual(expect.objectContaining({ key: 's1', upgrade: 'a/again', state: 'done' }));
});

test('a change of one spoke is one cell, and what says the same is not said again', () => {
  const { spoke, upgrade, changes } = fleetOf();
  spoke('s1');
  spoke('s2');
  upgrade('first', running, '2026-12-01T00:00:00Z');
  changes();
  spoke('s2', { openshiftVersion: '4.18.9' });
  expect(changes().spokes).toEqual({ isWhole: false, rows: [], cells: [{ key: 's2', version: '4.18.9' }], gone: [] });
  upgrade('first', running, '2026-12-01T00:00:00Z');
  expect(changes()).toEqual({});
});

test('members of an upgrade are said while somebody looks at it', () => {
  const { fleet, upgrade } = fleetOf();
  upgrade('first', running, '2026-12-01T00:00:00Z');
  fleet.takeChanges(NOW);
  expect(fleet.look('a/first').members?.changes.rows.map(({ key, batch }) => [key, batch])).toEqual([
    ['s1', 1],
    ['s2', 2],
  ]);
  upgrade('first', ended, '2026-12-01T00:00:00Z');
  expect(fleet.takeChanges(NOW).members[0]?.members?.changes.cells).toEqual([
    expect.objectContaining({ key: 's1', state: 'done' }),
    expect.objectContaining({ key: 's2', state: 'done' }),
  ]);
  fleet.lookAway('a/first');
  upgrade('first', running, '2026-12-01T00:00:00Z');
  expect(fleet.takeChanges(NOW).members).toEqual([]);
});

test('rows hold as much of a text as a table shows, whatever a status holds', () => {
  const { fleet, spoke, upgrade } = fleetOf();
  const long = 'no space left on device '.repeat(50_000);
  spoke('s1');
  const lost = { ...ended, clusters: [{ name: 's1', state: 'failed', message: long }] };
  upgrade('long', { ...lost, precaching: { status: { s1: 'UnrecoverableError' }, messages: { s1: long } } }, '2026-12-01T00:00:00Z');
  fleet.takeChanges(NOW);
  const { spokes, upgrades } = fleet.whole();
  expect(spokes?.rows[0]?.says).toMatch(/no space left on device/);
  expect(upgrades?.rows[0]?.failures[0]?.says).toMatch(/no space left on device/);
  expect(JSON.stringify([spokes, upgrades, fleet.look('a/long')]).length).toBeLessThan(6_000);
});
