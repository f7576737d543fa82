import { setImmediate as turn } from 'node:timers/promises';
import { ClusterVersion } from '@flotilla/api/config';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { checkPreconditions } from './cluster-version/preconditions.ts';
import { clusterVersionStatus } from './cluster-version/status.ts';
import { parseUpdateGraph, updateGraphLimits } from './update-graph/graph.ts';
import { evaluateRisk } from './update-graph/promql-answers.ts';
import { listUpdates } from './update-graph/recommendation.ts';
import { findUpdates } from './update-graph/updates.ts';

const versions = ['4.20.0', '4.20.1', '4.20.2', '4.21.0', '4.21.0-rc.1', '5.0.0'];
const graph = {
  nodes: versions.map((version) => ({ version, payload: `r@sha256:${version}`, metadata: { url: 'https://example.com' } })),
  edges: [
    [1, 2],
    [1, 3],
  ],
  conditionalEdges: [
    {
      edges: [{ from: '4.20.1', to: '4.21.0-rc.1' }],
      risks: [{ name: 'Leak', url: 'https://example.com', message: 'm', matchingRules: [{ type: 'PromQL', promql: { promql: 'up' } }] }],
    },
  ],
};
const object = {
  metadata: { name: 'version', generation: 2 },
  spec: { clusterID: 'x', channel: 'stable', desiredUpdate: { version: '4.20.2' }, overrides: [] },
  status: {
    desired: { version: '4.20.1', image: 'i' },
    availableUpdates: [{ version: '4.20.2', image: 'j' }],
    history: [
      { state: 'Completed', version: '4.20.1', image: 'i', startedTime: '2026-01-01T00:00:00Z', completionTime: null, verified: true },
    ],
    conditions: [{ type: 'Upgradeable', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  },
};

/** A few edges, or more than anybody has. */
const edges = (random: RandomValues): number[][] =>
  Array.from({ length: random.below(random.chance(0.02) ? 150_000 : 50) }, () => [
    random.below(versions.length),
    random.below(versions.length + 1),
  ]);

/** As many releases as are read, each with as much beside it as there is room for. */
function largestGraph(random: RandomValues): string {
  const count = 1 + random.below(22_000);
  const pad = 'x'.repeat(random.below(Math.floor(updateGraphLimits.bytes / count)));
  const nodes = Array.from({ length: count }, (_, i) => ({ version: `4.20.${i}`, payload: `r@sha256:${i}`, metadata: { pad } }));
  const few = Array.from({ length: random.below(updateGraphLimits.edges) }, () => [random.below(count), random.below(count)]);
  return JSON.stringify({ nodes, edges: few, conditionalEdges: [] });
}

/** Versions that may follow a version, read from the text of the graph without the parser under test. */
function followersOf(text: string, version: string): ReadonlySet<unknown> {
  const { nodes, edges, conditionalEdges } = JSON.parse(text) as Partial<typeof graph> & Pick<typeof graph, 'nodes'>;
  const places = nodes.flatMap((node, i) => (node.version === version ? [i] : []));
  const plain = (edges ?? []).filter(([from]) => places.includes(from ?? -1)).map(([, to]) => nodes[to ?? -1]?.version);
  const risky = (conditionalEdges ?? []).flatMap((each) => each.edges ?? []).filter(({ from }) => from === version);
  return new Set([...plain, ...risky.map(({ to }) => to)]);
}

const targets = [
  defineTarget('update graphs', {
    make: (random) => {
      if (random.chance(0.02)) return largestGraph(random);
      const odd = random.chance(0.5) ? { ...graph, edges: edges(random) } : random.mutate(graph);
      return random.chance(0.2) ? random.mutateText(JSON.stringify(graph)) : JSON.stringify(odd);
    },
    run: async (text) => {
      const parsed = parseUpdateGraph(text);
      await turn();
      const found = findUpdates(parsed, { version: '4.20.1', channel: 'stable', isMigration: false });
      if (!('updates' in found)) return;
      await turn();
      const offered = [...found.updates, ...found.conditional.map(({ release }) => release)].map(({ version }) => version);
      const followers = followersOf(text, '4.20.1');
      expect(offered.filter((version) => !followers.has(version))).toEqual([]);
      await turn();
      const risks = found.conditional.flatMap((update) => update.risks);
      const verdicts = new Map(risks.map((risk) => [risk.name, evaluateRisk(risk, () => ({ matches: true }))]));
      listUpdates({ ...found, verdicts, accepted: new Set(), listed: [], nowMs: 0 });
    },
  }),
  defineTarget('cluster versions', {
    make: (random) => random.mutate(object),
    run: async (odd) => {
      const read = ClusterVersion.schema.safeParse(odd);
      if (!read.success) return undefined;
      checkPreconditions({ clusterVersion: read.data, target: '4.21.0' });
      return clusterVersionStatus({ object: read.data, risks: { pendingDeletions: [], operators: [] } }, 0);
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
