import { expect, test } from 'vitest';
import { stateDiagram } from '../diagram.ts';
import { advanceCluster, type RolloutClusterLook, type RolloutClusterState, rolloutClusterMachine } from './cluster-machine.ts';

const look: RolloutClusterLook = {
  exists: true,
  isPrepared: true,
  position: 'before',
  isEdited: false,
  isLate: false,
  problem: 'none',
};
interface Row {
  name: string;
  from: RolloutClusterState;
  seen: Partial<RolloutClusterLook>;
  to: RolloutClusterState;
}

test.each<Row>([
  { name: 'is prepared until its edits are seen', from: 'preparing', seen: { isPrepared: false }, to: 'preparing' },
  { name: 'waits for its batch once it is prepared', from: 'preparing', seen: {}, to: 'waiting' },
  { name: 'is late while it is prepared', from: 'preparing', seen: { isPrepared: false, isLate: true }, to: 'timedOut' },
  { name: 'is refused while it is prepared', from: 'preparing', seen: { isPrepared: false, problem: 'refused' }, to: 'failed' },
  {
    name: 'is late rather than refused',
    from: 'preparing',
    seen: { isPrepared: false, isLate: true, problem: 'refused' },
    to: 'timedOut',
  },
  { name: 'has no batch yet, however late', from: 'waiting', seen: { isLate: true }, to: 'waiting' },
  { name: 'may not be begun', from: 'waiting', seen: { position: 'barred' }, to: 'waiting' },
  { name: 'may not be begun until it is late', from: 'waiting', seen: { position: 'barred', isLate: true }, to: 'timedOut' },
  { name: 'begins', from: 'waiting', seen: { position: 'at' }, to: 'remediating' },
  { name: 'begins with a soak', from: 'waiting', seen: { position: 'soaking' }, to: 'soaking' },
  { name: 'has nothing to do', from: 'waiting', seen: { position: 'through', isEdited: true }, to: 'complete' },
  { name: 'goes on', from: 'remediating', seen: { position: 'at' }, to: 'remediating' },
  { name: 'goes on although something is refused', from: 'remediating', seen: { position: 'at', problem: 'refused' }, to: 'remediating' },
  { name: 'soaks', from: 'remediating', seen: { position: 'soaking' }, to: 'soaking' },
  { name: 'loses what it soaks for', from: 'soaking', seen: { position: 'at' }, to: 'remediating' },
  { name: 'is late at a policy', from: 'remediating', seen: { position: 'at', isLate: true }, to: 'timedOut' },
  { name: 'is late in its soak', from: 'soaking', seen: { position: 'soaking', isLate: true }, to: 'timedOut' },
  { name: 'gets through although it is late', from: 'soaking', seen: { position: 'through', isLate: true }, to: 'editing' },
  { name: 'gets through with its edits made', from: 'remediating', seen: { position: 'through', isEdited: true }, to: 'complete' },
  { name: 'is through and late: its edits are waited for', from: 'editing', seen: { position: 'through', isLate: true }, to: 'editing' },
  {
    name: 'is through and late, and an error lasts',
    from: 'editing',
    seen: { position: 'through', isLate: true, problem: 'lasts' },
    to: 'timedOut',
  },
  { name: 'is through, and its edits are refused', from: 'editing', seen: { position: 'through', problem: 'refused' }, to: 'failed' },
])('$name: $from becomes $to', ({ from, seen, to }) => {
  expect(advanceCluster(from, { ...look, ...seen })).toBe(to);
});

const final: readonly RolloutClusterState[] = ['complete', 'timedOut', 'failed'];
const states: readonly RolloutClusterState[] = ['preparing', 'waiting', 'remediating', 'soaking', 'editing', ...final];

test('whoever leaves the fleet has failed, unless it has ended', () => {
  expect(Object.keys(rolloutClusterMachine.states)).toEqual(states);
  for (const state of states)
    expect(advanceCluster(state, { ...look, exists: false, isEdited: true })).toBe(final.includes(state) ? state : 'failed');
});

/** Every look there can be. */
function allLooks(): RolloutClusterLook[] {
  const values = {
    exists: [true, false],
    isPrepared: [true, false],
    position: ['before', 'barred', 'at', 'soaking', 'through'],
    isEdited: [true, false],
    isLate: [true, false],
    problem: ['none', 'lasts', 'refused'],
  };
  return Object.entries(values).reduce<RolloutClusterLook[]>(
    (looks, [field, each]) => looks.flatMap((seen) => each.map((value) => ({ ...seen, [field]: value }))),
    [look],
  );
}

test.each(states)('from %s every look leads as far as it goes: the same one again changes nothing', (state) => {
  const looks = allLooks();
  expect(looks).toHaveLength(240);
  for (const seen of looks) {
    const next = advanceCluster(state, seen);
    expect(advanceCluster(next, seen)).toBe(next);
  }
});

test('the diagram names the guards', () => {
  const diagram = stateDiagram(rolloutClusterMachine);
  expect(diagram).toContain('[*] --> preparing');
  expect(diagram).toContain('editing --> complete: LOOK [isEdited]');
  expect(diagram).toContain('soaking --> remediating: LOOK [isAtOne]');
});
