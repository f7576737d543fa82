import type { UpdateHistory } from '@flotilla/api/config';
import { expect, test } from 'vitest';
import { entry } from '../../testing/cluster-version-builders.ts';
import { pruneHistory } from './history.ts';

/** The rules of spec/cvo 5.5 once more, as they stand there: rank = base − 1.01 × index, and the lowest goes. */
function rankOf(history: readonly UpdateHistory[], index: number): number {
  const completed = (at: number): boolean => history[at]?.state === 'Completed';
  const part = (at: number, field: number): string | undefined => history[at]?.version.split('.')[field];
  const indexes = history.map((_, at) => at);
  const newer = indexes.findLast((at) => at < index && completed(at));
  const older = indexes.find((at) => at > index && completed(at));
  const mostRecent = indexes.find(completed);
  let base = 0;
  if (index === history.length - 1 || index <= 4 || index === mostRecent) base = 1_000;
  else if (completed(index)) {
    const edge = (at: number | undefined): boolean => at === undefined || part(at, 1) !== part(index, 1);
    if (edge(newer) || edge(older)) base = 30;
  } else if (newer !== undefined && older !== undefined) {
    if (part(newer, 1) !== part(older, 1)) base = 20;
    else if (part(newer, 2) !== part(older, 2)) base = -20;
  }
  return base - 1.01 * index;
}

/** Numbers from a seed. */
function drawing(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** A history as clusters make it: mostly forward, at times back, some updates given up. */
function drawnHistory(draw: (below: number) => number, length: number): UpdateHistory[] {
  let [minor, patch] = [1, 0];
  const entries = Array.from({ length }, () => {
    if (draw(6) === 0) [minor, patch] = [minor + 1, draw(3)];
    else patch = Math.max(0, patch + draw(4) - 1);
    return entry(`4.${minor}.${patch}`, draw(3) === 0 ? 'Partial' : 'Completed', { image: `r@sha256:${draw(1_000_000)}` });
  });
  return entries.reverse();
}

test('what goes of a history is what the rules rank lowest', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const draw = drawing(seed);
    const history = drawnHistory(draw, 8 + draw(40));
    const most = history.length - 1;
    const ranks = history.map((_, index) => rankOf(history, index));
    const lowest = ranks.indexOf(Math.min(...ranks));
    expect(pruneHistory(history, most), `seed ${seed}`).toEqual(history.toSpliced(lowest, 1));
  }
});

test('the rules of a hundred entries hold whatever is added', () => {
  const draw = drawing(7);
  const history = drawnHistory(draw, 101);
  const kept = pruneHistory(history);
  expect(kept).toHaveLength(100);
  expect(kept.slice(0, 5)).toEqual(history.slice(0, 5));
  expect(kept.at(-1)).toEqual(history.at(-1));
  const newest = history.find(({ state }) => state === 'Completed');
  expect(kept).toContainEqual(newest);
});
