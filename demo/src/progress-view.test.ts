import { expect, test } from 'vitest';
import type { SpokeProgress } from '../../test/support/upgrade-progress.ts';
import { ProgressView, progressLine } from './progress-view.ts';

const pulling: SpokeProgress = {
  name: 'spoke-1',
  state: 'Active',
  progress: { imagesDone: 3, imagesTotal: 12, bytesDone: 50_000_000, bytesTotal: 200_000_000, bytesPerSecond: 5_000_000 },
  message: undefined,
};

test('a line says state, images, bytes, rate and time left', () => {
  const line = progressLine(pulling);
  for (const part of ['spoke-1', 'Active', '[######..................]', '3/12 images', '50.0 MB of 200 MB', '5.00 MB/s', '30 s left'])
    expect(line).toContain(part);
});

test.each([
  { name: 'nothing is known yet', spoke: { ...pulling, state: 'NotStarted' as const, progress: undefined }, want: 'spoke-1  NotStarted' },
  {
    name: 'it failed with a reason',
    spoke: { ...pulling, state: 'UnrecoverableError' as const, progress: undefined, message: 'no space' },
    want: 'spoke-1  UnrecoverableError  no space',
  },
])('a line holds no more than is known when $name', ({ spoke, want }) => expect(progressLine(spoke)).toBe(want));

test('there is no estimate before there is a rate', () => {
  for (const bytesPerSecond of [0, 400, 49_999]) {
    const line = progressLine({ ...pulling, progress: pulling.progress && { ...pulling.progress, bytesPerSecond } });
    expect(line).toContain('50.0 MB of 200 MB');
    expect(line).not.toMatch(/MB\/s|left/);
  }
});

/** A view whose writes are kept and whose clock is set by hand. */
function viewOn(isTTY: boolean) {
  const written: string[] = [];
  const clock = { now: 0 };
  const view = new ProgressView({ isTTY, write: (text) => written.push(text) }, () => clock.now);
  return { view, written, clock };
}

test('in a terminal the block is drawn over the last one', () => {
  const { view, written } = viewOn(true);
  view.show([pulling, { ...pulling, name: 'spoke-2' }]);
  view.show([pulling, { ...pulling, name: 'spoke-2' }]);
  expect(written[0]?.startsWith('\u001b[2K')).toBe(true);
  expect(written[1]?.startsWith('\u001b[2A\u001b[2K')).toBe(true);
});

test('a line is cut at the width of the terminal', () => {
  const written: string[] = [];
  new ProgressView({ isTTY: true, columns: 40, write: (text) => written.push(text) }).show([pulling]);
  expect(written[0]?.replace('\u001b[2K', '').trimEnd().length).toBe(40);
});

test('elsewhere a spoke gets a line for each state at once, and for its bytes every three seconds', () => {
  const { view, written, clock } = viewOn(false);
  const after = (seconds: number, bytesDone: number) => {
    clock.now = seconds * 1_000;
    view.show([{ ...pulling, progress: pulling.progress && { ...pulling.progress, bytesDone } }]);
  };
  view.show([{ ...pulling, state: 'Starting', progress: undefined }]);
  after(1, 1_000_000);
  after(2, 2_000_000);
  after(4.5, 3_000_000);
  after(9, 3_000_000);
  expect(written).toHaveLength(3);
});

test('a spoke that succeeded keeps the images and bytes it ended with', () => {
  const { view, written } = viewOn(false);
  view.show([pulling]);
  view.show([{ ...pulling, state: 'Succeeded', progress: undefined }]);
  expect(written[1]).toContain('12/12 images  200 MB of 200 MB');
});
