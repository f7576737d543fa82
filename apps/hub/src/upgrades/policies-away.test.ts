import { describe, expect, test } from 'vitest';
import { type CauseName, causes, type Moment, moments, playCell } from '../../testing/policy-cells.ts';

const names = Object.keys(causes) as CauseName[];
/** `npm run matrix:policies` plays all cells, with SEED at other moments; the suite plays one of each row and each column. */
const { CELLS, SEED = '0' } = process.env;
const cells = names.flatMap((cause, row) =>
  moments.flatMap((moment, column): [CauseName, Moment, number][] =>
    CELLS === 'all' || column === (row + 2) % moments.length ? [[cause, moment, (Number(SEED) * (row + 7 * column + 1)) % 5]] : [],
  ),
);

describe('a policy that leaves a cluster', () => {
  test.each(cells)('%s, %s (%i steps later): nothing is complete unseen, it is named, and it ends', async (cause, moment, shift) => {
    const { unseenSuccesses, isNamed, end, recorded } = await playCell(cause, moment, { shift });
    expect(unseenSuccesses, JSON.stringify(recorded)).toEqual([]);
    // No upgrade has known the machine before.
    const isNew = cause === 'imported again' && moment === 'before the start';
    expect(isNamed || isNew, `${cause} is named`).toBe(true);
    const isUnmeant = moment === 'before the start' && ['label gone', 'Placement edited'].includes(cause);
    const isWell = isUnmeant || 'end' in causes[cause];
    expect(end).toMatch(isWell ? /^True Completed$/ : /^False (?:TimedOut|NotAllManagedPoliciesExist|PolicyFrameworkMissing)$/);
  });
});

test('before the start, a cluster that no Placement selects is said to be reached by no policy, and a disabled policy to be disabled', async () => {
  expect(await playCell('label gone', 'before the start')).toMatchObject({ unseenSuccesses: [], isNamed: true, end: 'True Completed' });
  expect(await playCell('disabled', 'before the start')).toMatchObject({
    isNamed: true,
    end: 'False NotAllManagedPoliciesExist',
    recorded: {},
  });
});

test('the only policy is enforced by its owner and does not comply: the cluster times out with its name, and nothing complies already', async () => {
  const { recorded, end, leftAt } = await playCell('enforced by its owner, in vain', 'before the start');
  expect(recorded).toEqual({ c1: 'complete', c2: 'timedout', c3: 'complete', c4: 'complete' });
  expect({ end, leftAt }).toEqual({ end: 'False TimedOut', leftAt: { c2: { name: 'p', status: 'NonCompliant' } } });
});

test.each<[CauseName, Moment]>([
  ['unbound', 'canary'],
  ['unreachable', 'later batch'],
  ['disabled', 'in soak'],
])('strictly, as by the reference, %s, %s: the cluster is complete without having complied', async (cause, moment) => {
  const { unseenSuccesses, end } = await playCell(cause, moment, { talmStrict: true });
  expect(unseenSuccesses).not.toEqual([]);
  expect(end).toBe('True Completed');
});
