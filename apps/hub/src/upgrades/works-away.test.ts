import { describe, expect, test } from 'vitest';
import { playWorkCell, type WorkCauseName, type WorkMoment, workCauses, workMoments } from '../../testing/work-cells.ts';

const names = Object.keys(workCauses) as WorkCauseName[];
/** `npm run matrix:policies` plays all cells, with SEED at other moments; the suite plays one of each row and each column. */
const { CELLS, SEED = '0' } = process.env;
const cells = names.flatMap((cause, row) =>
  workMoments.flatMap((moment, column): [WorkCauseName, WorkMoment, number][] =>
    CELLS === 'all' || column === (row + 1) % workMoments.length ? [[cause, moment, (Number(SEED) * (row + 5 * column + 1)) % 5]] : [],
  ),
);

describe('a template or a work that leaves a cluster', () => {
  test.each(cells)('%s, %s (%i steps later): nothing is complete unseen, it is named, and it ends', async (cause, moment, shift) => {
    const { unseenSuccesses, isNamed, end, recorded, versions } = await playWorkCell(cause, moment, { shift });
    expect(unseenSuccesses, JSON.stringify(recorded)).toEqual([]);
    const isBefore = moment === 'before the start';
    // No upgrade has known the machine or the version before.
    const isNew = isBefore && (cause === 'imported again' || cause.startsWith('template edited'));
    expect(isNamed || isNew, `${cause} is named`).toBe(true);
    expect(versions.length, versions.join()).toBeLessThanOrEqual(1);
    // A cluster whose work is there goes on with the version that it has.
    const isWell = isNew || 'end' in workCauses[cause] || (moment === 'last batch' && cause.startsWith('template'));
    expect(end).toMatch(isWell ? /^True Completed$/ : /^False (?:TimedOut|NotAllManifestTemplatesExist)$/);
  });
});

test('strictly, as by the reference, a cluster that is imported again goes on where the machine before was', async () => {
  const { unseenSuccesses, end } = await playWorkCell('imported again', 'later batch', { talmStrict: true });
  expect({ unseenSuccesses, end }).toEqual({ unseenSuccesses: ['c2'], end: 'True Completed' });
});
