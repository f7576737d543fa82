import { PullerExit, type PullerReport } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { REPORT } from '../../testing/memory-spoke.ts';
import { type Member, Members, sumReports } from './members.ts';

/** Lets a node's process come, with what is known of it. */
function come(to: Members, name: string, { id = `uid-${name}`, seenAt = 0, isOpen = true, ...said }: Partial<Member> = {}): void {
  Object.assign(to.join({ id, name, identity: name, peer: undefined, isOpen }, seenAt), said);
}
const listed = (...names: string[]) => ({ nodes: names.map((name) => ({ name, uid: `uid-${name}` })) });
const members = () => new Members({ ownName: 'own', patienceMs: 60_000, now: 0 });
const verdicts = (of: Members, now: number) => of.judge(now).map(({ name, verdict }) => `${name} ${verdict}`);

describe('the nodes of a run', () => {
  test('are judged one by one, the own one left out', () => {
    const all = members();
    all.expect(listed('own', 'a', 'b', 'c', 'd'), 0);
    come(all, 'a', { exitCode: PullerExit.done });
    come(all, 'b', { exitCode: PullerExit.noSpace, report: { ...REPORT, message: 'not enough space' } });
    come(all, 'c');
    expect(verdicts(all, 1_000)).toEqual(['a done', 'b failed', 'c pulling', 'd pulling']);
    expect(verdicts(all, 61_000)).toEqual(['a done', 'b failed', 'c absent', 'd absent']);
  });

  test('are forgotten when they leave the cluster, and another node of the name is another node', () => {
    const all = members();
    all.expect(listed('own', 'a', 'b'), 0);
    come(all, 'a', { exitCode: PullerExit.noSpace });
    all.expect({ nodes: [{ name: 'b', uid: 'uid-other' }] }, 50_000);
    expect(verdicts(all, 61_000)).toEqual(['b pulling']);
  });

  test('are waited for in silence until their patience is over or they leave the cluster', () => {
    const all = members();
    const [a, b] = [
      { id: 'uid-a', name: 'a', seenAt: 0 },
      { id: 'uid-b', name: 'b', seenAt: 0 },
    ];
    // Before the nodes are known nobody has left.
    expect(all.isGone(a, 20_000)).toBe(false);
    all.expect(listed('own', 'a'), 0);
    for (const [member, now, isGone] of [
      [a, 20_000, false],
      [a, 60_000, false],
      [a, 60_001, true],
      [b, 12_000, false],
      [b, 12_001, true],
    ] as const)
      expect(all.isGone(member, now), `${member.name} at ${now}`).toBe(isGone);
  });

  test('are counted where they cannot be listed', () => {
    const all = members();
    all.expect({ count: 3 }, 0);
    come(all, 'a', { exitCode: PullerExit.done });
    expect(verdicts(all, 1_000)).toEqual(['a done', 'a node whose name is not known here pulling']);
  });

  test('that were counted and have left are none of the count any more', () => {
    const all = members();
    all.expect({ count: 3 }, 0);
    come(all, 'a', { seenAt: 0 });
    come(all, 'b', { seenAt: 100_000, exitCode: PullerExit.done });
    all.expect({ count: 2 }, 90_000);
    expect(verdicts(all, 100_000)).toEqual(['b done']);
  });

  test('that were counted and are silent stand for no other: one that has ended is no end of its replacement', () => {
    const all = members();
    all.expect({ count: 2 }, 0);
    come(all, 'a', { seenAt: 1_000, exitCode: PullerExit.done, report: REPORT });
    expect(verdicts(all, 13_000)).toEqual(['a done']);
    expect(all.judge(33_000)).toMatchObject([{ name: 'a', verdict: 'pulling', isOpen: false, message: 'no word from its puller' }]);
    come(all, 'b', { seenAt: 40_000 });
    expect(verdicts(all, 40_000)).toEqual(['b pulling']);
    come(all, 'b', { seenAt: 50_000, exitCode: PullerExit.done });
    expect(verdicts(all, 50_000)).toEqual(['b done']);
  });

  test('that are added to the count later have all their patience, whoever was silent before', () => {
    const all = members();
    all.expect({ count: 3 }, 0);
    come(all, 'a', { seenAt: 0 });
    come(all, 'b', { seenAt: 200_000 });
    all.expect({ count: 2 }, 90_000);
    all.expect({ count: 3 }, 200_000);
    expect(verdicts(all, 205_000)).toEqual(['b pulling', 'a node whose name is not known here pulling']);
    come(all, 'b', { seenAt: 261_000 });
    expect(verdicts(all, 261_000)).toEqual(['b pulling', 'a node whose name is not known here absent']);
  });

  test('are waited for, and then missed, as long as nobody knows them: none is no verdict', () => {
    const all = members();
    expect(all.judge(1_000).map(({ verdict }) => verdict)).toEqual(['pulling']);
    expect(all.areGathered(1_000)).toBe(false);
    expect(all.judge(61_000).map(({ verdict }) => verdict)).toEqual(['absent']);
  });

  test('that the cluster makes no pods for are named with that', () => {
    const all = members();
    all.expect({ ...listed('own', 'a'), refusal: 'no pods' }, 0);
    expect(all.judge(31_000).map(({ message }) => message)).toEqual(['its puller has not come yet: no pods']);
    expect(all.judge(61_000).map(({ message }) => message)).toEqual(['no puller has come from it for 61 s: no pods']);
    come(all, 'a', { seenAt: 61_000 });
    expect(all.judge(62_000).map(({ message }) => message)).toEqual([undefined]);
  });

  test('that were not let in are named with that, once they are expected', () => {
    const all = members();
    all.expect(listed('own', 'a', 'b'), 0);
    come(all, 'b');
    for (const name of ['a', 'b', 'c']) all.refuse(name, 'no token');
    all.expect(listed('own', 'a', 'b', 'c'), 0);
    expect(all.judge(61_000).map(({ message }) => message)).toEqual([
      'its puller has not been let in for 61 s: no token',
      'no word from its puller for 61 s: no token',
      'no puller has come from it for 61 s',
    ]);
    come(all, 'b', { seenAt: 61_000 });
    expect(all.judge(122_000)[1]).toMatchObject({ message: 'no word from its puller for 61 s' });
  });

  test('that can only be counted are missed with the cause for which one was not let in', () => {
    const all = members();
    all.expect({ count: 2 }, 0);
    all.refuse('whoever', 'no token');
    expect(all.judge(61_000).map(({ message }) => message)).toEqual(['its puller has not been let in for 61 s: no token']);
  });

  test('that have everything are known by the uid of their token', () => {
    const all = members();
    all.expect(listed('own', 'a', 'b', 'c'), 0);
    come(all, 'a', { exitCode: PullerExit.done });
    come(all, 'b', { exitCode: PullerExit.done, id: 'b' });
    come(all, 'c', { exitCode: PullerExit.partlyDone });
    expect(all.filled(1_000)).toEqual([{ name: 'a', uid: 'uid-a' }, { name: 'b' }]);
  });

  test('are gathered once each that is expected has come with its store open', () => {
    const all = members();
    all.expect(listed('own', 'a', 'b'), 0);
    come(all, 'a');
    expect(all.areGathered(0)).toBe(false);
    come(all, 'b', { isOpen: false });
    expect(all.areGathered(0)).toBe(false);
    come(all, 'b');
    expect(all.areGathered(0)).toBe(true);
  });
});

test('the sum has all bytes and images, the slowest node and at most five that failed', () => {
  const report = (bytesDone: number): PullerReport => ({ ...REPORT, imagesDone: 2, imagesTotal: 4, bytesDone, bytesTotal: 100 });
  const failed = Array.from({ length: 7 }, (_, index) => ({
    name: `f${index}`,
    verdict: 'failed' as const,
    message: 'x'.repeat(999),
    report: undefined,
  }));
  const pulling = [20, 10].map((bytes) => ({ name: `p${bytes}`, verdict: 'pulling' as const, message: undefined, report: report(bytes) }));
  const sum = sumReports({ ...report(100), phase: 'done' }, 'own', [...pulling, ...failed]);
  expect(sum).toMatchObject({ phase: 'pulling', imagesDone: 6, imagesTotal: 12, bytesDone: 130, bytesTotal: 300 });
  expect(sum.nodes).toMatchObject({ total: 10, done: 1, failed: 7, absent: 0, slowest: { node: 'p10', bytesDone: 10, bytesTotal: 100 } });
  expect(sum.nodes?.problems).toHaveLength(5);
  expect(sum.nodes?.problems?.every(({ message }) => message.length === 256)).toBe(true);
});
