import { Label } from '@flotilla/api';
import { ClusterClaim, type ManagedCluster } from '@flotilla/api/ocm';
import { chooseTransport, type Transport } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { actionObject, clusterObject, viewObject } from '../../../testing/observation-builders.ts';
import { workOf } from '../../../testing/work-builders.ts';
import { begunTransport } from './reach.ts';

const view = viewObject('view-precache-namespace');
const leftover = viewObject('view-precache-namespace-leftover', undefined, { [Label.leftover]: 'true' });
const deletion = (deletes: string) => actionObject('precache-ns-delete', undefined, { 'flotilla.io/deletes': deletes });

describe('the transport that was begun stays', () => {
  test.each([
    { name: 'nothing', want: undefined },
    { name: 'a work', work: workOf(), want: 'work' },
    { name: 'a view', views: [view], want: 'actions' },
    { name: 'a view, after nobody answered the work', views: [view], work: workOf(), want: 'actions' },
    { name: 'what an upgrade that ended left', views: [leftover], want: undefined },
    { name: 'an action that clears the spoke before anything begins', actions: [deletion('before')], want: undefined },
    { name: 'an action that cleans the spoke', actions: [deletion('after')], want: 'actions' },
    { name: 'an action that creates something', actions: [actionObject('precache-ns-create')], want: 'actions' },
  ] as const)('$name: $want', ({ want, ...given }) => {
    expect(begunTransport({ views: [], actions: [], work: undefined, ...given })).toBe(want);
  });
});

describe('the transport of a new attempt', () => {
  const withLabels = (labels: Record<string, string>): ManagedCluster => {
    const cluster = clusterObject(true);
    return { ...cluster, metadata: { ...cluster.metadata, labels } };
  };
  const addOn = withLabels({ 'feature.open-cluster-management.io/addon-work-manager': 'available' });
  const gone = withLabels({ 'feature.open-cluster-management.io/addon-work-manager': 'unreachable' });
  const withClaims = (value: string): ManagedCluster => {
    const cluster = clusterObject(true);
    return { ...cluster, status: { ...cluster.status, clusterClaims: [{ name: ClusterClaim.transports, value }] } };
  };
  const rows: { name: string; transport: Transport; isServed?: false; managed?: ManagedCluster; want: string }[] = [
    { name: 'actions are wanted', transport: 'actions', managed: addOn, want: 'actions: configured' },
    { name: 'works are wanted', transport: 'work', want: 'work: configured' },
    { name: 'works are wanted and not served', transport: 'work', isServed: false, want: 'actions: the hub does not serve ManifestWorks' },
    {
      name: 'works are not served',
      transport: 'auto',
      isServed: false,
      managed: addOn,
      want: 'actions: the hub does not serve ManifestWorks',
    },
    {
      name: 'an add-on was installed by a work',
      transport: 'auto',
      managed: addOn,
      want: 'work: add-on work-manager is available, which a work agent installed',
    },
    { name: 'an add-on is away', transport: 'auto', managed: gone, want: 'actions: nothing says that a work agent answers on the cluster' },
    {
      name: 'the agent says that it takes works',
      transport: 'auto',
      managed: withClaims('actions,works'),
      want: "work: the cluster's agent says that it takes works",
    },
    {
      name: 'the agent says that it takes none',
      transport: 'auto',
      managed: withClaims('actions'),
      want: 'actions: nothing says that a work agent answers on the cluster',
    },
    {
      name: 'claims that cannot be read say nothing',
      transport: 'auto',
      managed: { ...clusterObject(true), status: { clusterClaims: 'works' } },
      want: 'actions: nothing says that a work agent answers on the cluster',
    },
    { name: 'nothing is known', transport: 'auto', want: 'actions: nothing says that a work agent answers on the cluster' },
  ];
  test.each(rows)('$name', ({ transport, isServed = true, managed, want }) => {
    const { by, reason } = chooseTransport({ transport, isServed, managed });
    expect(`${by}: ${reason}`).toBe(want);
  });
});
