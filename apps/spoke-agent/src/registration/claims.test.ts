import { ClusterClaim, claimOf, ManagedCluster } from '@flotilla/api/ocm';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { reportClaims, type SpokeFacts, toClaims, withClaims } from './claims.ts';

const facts = (parts: Partial<SpokeFacts>): SpokeFacts => ({
  kubeVersion: 'v1.33.2',
  groups: ['apps'],
  nodes: [],
  worksMayPrecache: false,
  makesPullerAccount: false,
  makesNodePullers: false,
  ...parts,
});
const claim = (parts: Partial<SpokeFacts>, name: string) => toClaims(facts(parts)).find((each) => each.name === name)?.value;

describe('product of a spoke', () => {
  test.each([
    { name: 'OpenShift', given: { groups: ['security.openshift.io', 'config.openshift.io'] }, want: 'OpenShift' },
    { name: 'MicroShift, which has constraints and no ClusterVersion', given: { groups: ['security.openshift.io'] }, want: 'MicroShift' },
    { name: 'a cluster that our version operator runs', given: { groups: ['config.openshift.io'] }, want: 'Other' },
    { name: 'k3s', given: { kubeVersion: 'v1.33.2+k3s1' }, want: 'K3s' },
    { name: 'RKE2', given: { kubeVersion: 'v1.33.2+rke2r1' }, want: 'RKE2' },
    { name: 'EKS', given: { kubeVersion: 'v1.33.2-eks-473151a' }, want: 'EKS' },
    { name: 'plain Kubernetes', given: {}, want: 'Other' },
  ])('$name: $want', ({ given, want }) => {
    expect(claim(given, 'product.open-cluster-management.io')).toBe(want);
  });

  test('its nodes, counted by architecture and runtime', () => {
    const nodes = [
      { architecture: 'arm64', runtime: 'cri-o://1.33.0' },
      { architecture: 'amd64', runtime: 'containerd://2.1.4' },
      { architecture: 'amd64', runtime: 'containerd://2.1.4' },
    ];
    expect(claim({ nodes }, 'nodes.flotilla.io')).toBe('2 amd64 containerd://2.1.4, 1 arm64 cri-o://1.33.0');
  });

  test('many kinds of nodes give as many whole entries as a claim holds', () => {
    const nodes = Array.from({ length: 500 }, (_, i) => ({
      architecture: 'amd64',
      runtime: `containerd://2.${String(i).padStart(3, '0')}`,
    }));
    const text = claim({ nodes }, 'nodes.flotilla.io') ?? '';
    expect(text.length).toBeLessThanOrEqual(1024);
    expect(text.split(', ').every((entry) => /^1 amd64 containerd:\/\/2\.\d{3}$/.test(entry))).toBe(true);
  });

  test('nothing of nodes where it may not list them, or has none yet: a hub takes no claim without a value', () => {
    expect(claim({ nodes: undefined }, 'nodes.flotilla.io')).toBeUndefined();
    expect(claim({ nodes: [] }, 'nodes.flotilla.io')).toBeUndefined();
  });

  test.each([
    { worksMayPrecache: true, want: 'actions,works' },
    { worksMayPrecache: false, want: 'actions' },
    { worksMayPrecache: true, makesPullerAccount: true, want: 'actions,works,puller-account' },
    { worksMayPrecache: false, makesPullerAccount: true, want: 'actions,puller-account' },
    { worksMayPrecache: true, makesPullerAccount: true, makesNodePullers: true, want: 'actions,works,puller-account,node-pullers' },
  ])('how a job may come: $want', ({ want, ...given }) => {
    expect(claim(given, 'transports.flotilla.io')).toBe(want);
  });
});

describe('claims of others', () => {
  const ours = [{ name: 'transports.flotilla.io', value: 'actions' }];
  test('stay; those of ours are replaced and never doubled', () => {
    const others = [{ name: 'site.example.com', value: 'north' }];
    const before = [{ name: 'nodes.flotilla.io', value: 'old' }, ...others, { name: 'transports.flotilla.io', value: 'x' }];
    expect(withClaims(before, ours)).toEqual([...others, ...ours]);
    expect(withClaims(withClaims(before, ours), ours)).toEqual([...others, ...ours]);
  });
  test.each([undefined, 'text', 3, {}])('%j is no list of any', (before) => expect(withClaims(before, ours)).toEqual(ours));
});

describe('a report', () => {
  /** Runs an agent whose spoke has so many nodes of so many bytes, and returns what the hub is told and asked. */
  function start(nodes: number, nodeBytes = 0) {
    const clock = new ManualClock();
    const stop = new AbortController();
    const spoke = { nodes };
    const hub = { cluster: ManagedCluster.schema.parse({ metadata: { name: 'a' } }), requests: 0 };
    const answers: Record<string, () => unknown> = {
      '/version': () => ({ gitVersion: 'v1.33.2' }),
      '/apis': () => ({ groups: [] }),
    };
    const nodeInfo = { architecture: 'amd64', containerRuntimeVersion: 'containerd://2.1.4' };
    const node = { status: { nodeInfo, images: [{ names: ['x'.repeat(nodeBytes)] }] } };
    const list = (path: string) => {
      const { searchParams } = new URL(path, 'http://server');
      const from = Number(searchParams.get('continue') ?? 0);
      const to = Math.min(spoke.nodes, from + Number(searchParams.get('limit') ?? spoke.nodes));
      return { metadata: to < spoke.nodes ? { continue: String(to) } : {}, items: Array.from({ length: to - from }, () => node) };
    };
    const getText = async (path: string, { maxBytes }: { maxBytes: number }) => {
      const text = JSON.stringify(answers[path]?.() ?? list(path));
      if (text.length > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
      return text;
    };
    const deps = {
      hub: {
        get: async () => {
          hub.requests += 1;
          return hub.cluster;
        },
        patch: async (_: unknown, __: unknown, { status }: { status: object }) => {
          hub.cluster = ManagedCluster.schema.parse({ ...hub.cluster, status: { ...hub.cluster.status, ...status } });
          return hub.cluster;
        },
      },
      spoke: { getText },
      workSpoke: undefined,
      makesPullerAccount: false,
      clusterName: 'a',
      clock,
      logger: createLogger({ name: 'test', level: 'silent' }),
    };
    const ended = reportClaims(deps as never, stop.signal);
    const told = () => claimOf(hub.cluster, ClusterClaim.nodes);
    const end = async (): Promise<void> => {
      stop.abort();
      await ended.catch(() => undefined);
    };
    return { clock, spoke, hub, told, [Symbol.asyncDispose]: end };
  }

  test('of a node that joins comes within a minute, and unchanged claims cost the hub one request in ten', async () => {
    await using agent = start(1);
    await agent.clock.advance(0);
    expect(agent.told()).toBe('1 amd64 containerd://2.1.4');
    agent.spoke.nodes = 3;
    await agent.clock.advance(60_000);
    expect(agent.told()).toBe('3 amd64 containerd://2.1.4');
    const { requests } = agent.hub;
    await agent.clock.advance(9 * 60_000);
    expect(agent.hub.requests).toBe(requests);
    await agent.clock.advance(60_000);
    expect(agent.hub.requests).toBe(requests + 1);
  });

  test('of nodes with 100 KB each counts all of them', async () => {
    await using agent = start(101, 100_000);
    await agent.clock.advance(0);
    expect(agent.told()).toBe('101 amd64 containerd://2.1.4');
  });

  test('of more than a hundred nodes is made every ten minutes', async () => {
    await using agent = start(101);
    await agent.clock.advance(0);
    agent.spoke.nodes = 102;
    await agent.clock.advance(9 * 60_000);
    expect(agent.told()).toBe('101 amd64 containerd://2.1.4');
    await agent.clock.advance(60_000);
    expect(agent.told()).toBe('102 amd64 containerd://2.1.4');
  });
});
