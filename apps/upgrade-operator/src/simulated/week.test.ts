import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { expect, test } from 'vitest';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';
import { type Row, rowText } from '../../testing/simulated/recorder.ts';
import { WEEK } from '../../testing/simulated/week-table.ts';

/** Ten thousand minutes are two seconds of work on a machine that has nothing else to do. */
const PATIENCE_MS = 240_000;

/** Plays the week. @param aheadMinutes that Alertmanager's clock is ahead of the operator's */
async function playWeek(aheadMinutes: number): Promise<readonly Row[]> {
  const operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors }, aheadMinutes);
  const story: Readonly<Record<string, () => unknown>> = {
    'Mon 01:00': () => operator.upgrade('4.14.10', '02:00'),
    'Tue 01:00': () => operator.upgrade('4.14.11', '02:00'),
    // Its budget forbids its eviction: the daemon gives the drain up at 04:00.
    'Tue 01:30': () => operator.guard('shop'),
    'Wed 01:00': () => operator.upgrade('4.14.12', '02:00'),
    // Nobody but its owner may remove it.
    'Wed 01:30': () => operator.guard('infra-logs'),
    'Wed 07:59': () => operator.unguard('infra-logs'),
    'Thu 01:00': () => operator.upgrade('4.14.13', '02:00'),
    'Thu 02:50': () => operator.away(true),
    'Thu 06:00': () => operator.away(false),
    'Fri 01:00': () => operator.upgrade('4.14.14', '02:00'),
    'Fri 01:30': () => operator.away(true),
    'Fri 09:00': () => operator.away(false),
    'Sat 01:00': () => operator.hold({ updatesHeld: true }),
    'Sat 01:01': () => operator.upgrade('4.14.15', '02:00', 'candidate-4.14'),
    'Sat 03:00': () => operator.away(true),
    'Sat 05:00': () => operator.away(false),
    'Sat 09:00': () => operator.hold({}),
    'Sat 10:00': () => operator.upgrade('4.14.15', '10:30', 'candidate-4.14'),
    'Sun 01:00': () => operator.upgrade('4.14.16', '02:00'),
    'Sun 01:30': () => operator.hold({ controlPlaneHeld: true }),
    'Sun 03:44': () => operator.hold({}),
    'Sun 03:50': () => operator.away(true),
    'Sun 05:30': () => operator.away(false),
  };
  await operator.until('Sun 23:59', (time) => story[time]?.());
  await operator.stop();
  return operator.recorder.rows;
}

/** Text before the bar of each row. */
const expected = WEEK.map((line) => line.slice(0, line.indexOf('  | ')));
const withoutTime = (line: string): string => line.slice('Mon 00:00  '.length);

test(
  'a week of one operator is told, silenced and measured as the documents of the reference have it',
  async () => {
    const rows = (await playWeek(0)).map(rowText);
    expect(rows).toEqual(expected);
  },
  PATIENCE_MS,
);

// Only when a silence runs out depends on Alertmanager's clock.
test.each([{ ahead: -2 }, { ahead: 2 }])(
  'and so it is beside an Alertmanager whose clock is $ahead min ahead',
  async ({ ahead }) => {
    const rows = (await playWeek(ahead)).map(rowText);
    expect(rows.map(withoutTime).toSorted()).toEqual(expected.map(withoutTime).toSorted());
    const late = (lines: readonly string[]) =>
      lines.filter((line) => / ran out$| worker_timeout .* = 1$/.test(line)).map((line) => line.slice(0, 9));
    expect(late(rows)).toEqual(late(expected).map((time) => shifted(time, -ahead)));
  },
  PATIENCE_MS,
);

/** The same day, so many minutes later. */
function shifted(time: string, minutes: number): string {
  const at = new Date(Date.parse(`2026-03-02T${time.slice(4)}:00Z`) + minutes * 60_000);
  return `${time.slice(0, 4)}${at.toISOString().slice(11, 16)}`;
}
