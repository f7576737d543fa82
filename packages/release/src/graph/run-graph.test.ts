import { describe, expect, test } from 'vitest';
import { payloadManifest } from '../../testing/payload-fixture.ts';
import { byNumberAndComponent } from './grouping.ts';
import { firstState, planApply } from './plan.ts';
import { runGraph } from './run-graph.ts';
import { TaskGraph, type TaskNode, toTasks } from './task-graph.ts';

const names = ['03_a_0', '03_a_1', '03_b_0', '05_c_0', '05_d_0', '07_e_0'];
const manifests = names.map((name) =>
  payloadManifest(`release-manifests/0000_${name}`, { apiVersion: 'v1', kind: 'Pod', metadata: { name: name.replaceAll('_', '-') } }),
);
const { nodes } = new TaskGraph(toTasks(manifests)).parallelize(byNumberAndComponent);
const nameOf = ({ tasks }: TaskNode): string => tasks[0]?.manifest.name ?? '';
const never = new AbortController().signal;

test('each node runs once, after all before it', async () => {
  const done: string[] = [];
  expect(await runGraph(nodes, async (node) => void done.push(nameOf(node)), { workers: 16, signal: never })).toEqual([]);
  expect(done).toEqual(['03-a-0', '03-b-0', '05-c-0', '05-d-0', '07-e-0']);
});

test.each([
  { workers: 1, want: 1 },
  { workers: 0, want: 1 },
  { workers: 16, want: 2 },
])('$workers workers: $want nodes at once', async ({ workers, want }) => {
  let [now, most] = [0, 0];
  const run = async () => {
    most = Math.max(most, ++now);
    await Promise.resolve();
    now--;
  };
  await runGraph(nodes, run, { workers, signal: never });
  expect(most).toBe(want);
});

test('a node that fails keeps its peers going and those behind it back; errors come in the order of nodes', async () => {
  const done: string[] = [];
  const errors = await runGraph(
    nodes,
    async (node) => {
      done.push(nameOf(node));
      // the later one fails first
      if (nameOf(node) === '03-a-0') await Promise.resolve().then(() => Promise.resolve());
      if (nameOf(node).startsWith('03')) throw new Error(nameOf(node));
    },
    { workers: 16, signal: never },
  );
  expect(done).toEqual(['03-a-0', '03-b-0']);
  expect(errors).toEqual([new Error('03-a-0'), new Error('03-b-0')]);
});

test('a signal lets nothing begin, and what is left over is told', async () => {
  const ending = new AbortController();
  const run = async () => ending.abort(new Error('the pass timed out'));
  const errors = await runGraph(nodes, run, { workers: 1, signal: ending.signal });
  expect(errors).toEqual([
    expect.objectContaining({ message: '5 incomplete task nodes, beginning with pod "03-b-0" (3 of 6)', cause: ending.signal.reason }),
  ]);
});

describe('planned for', () => {
  const shape = (state: Parameters<typeof planApply>[1], attempt?: number) => {
    const { nodes, workers } = planApply(manifests, state, attempt);
    return { order: nodes.map(nameOf).filter((name) => name !== ''), workers };
  };
  const flat = ['03-a-0', '03-b-0', '05-c-0', '05-d-0', '07-e-0'];

  test('an install: all at once', () => expect(shape('Initializing')).toEqual({ order: flat, workers: 6 }));
  test('an update: by levels', () => expect(shape('Updating')).toEqual({ order: flat, workers: 16 }));
  test('reconciling: all in an order that eight attempts share, each beginning elsewhere', () => {
    const [first, second, ninth] = [shape('Reconciling', 0), shape('Reconciling', 1), shape('Reconciling', 8)];
    expect(first).toMatchObject({ workers: 2 });
    expect(first.order.toSorted()).toEqual(flat);
    expect(second.order).toEqual([...first.order.slice(1), ...first.order.slice(0, 1)]);
    expect(ninth.order).not.toEqual(first.order);
  });
});

test.each<{ history: [state: string, image: string][]; want: string }>([
  { history: [], want: 'Initializing' },
  { history: [['Partial', 'a']], want: 'Initializing' },
  { history: [['Completed', 'a']], want: 'Reconciling' },
  { history: [['Completed', 'b']], want: 'Updating' },
  {
    history: [
      ['Partial', 'a'],
      ['Completed', 'b'],
    ],
    want: 'Updating',
  },
])('after $history the first work is for $want', ({ history, want }) =>
  expect(firstState({ history: history.map(([state, image]) => ({ state, image })), image: 'a' })).toBe(want),
);
