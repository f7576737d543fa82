import type { Ref } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { buildClusterGroupUpgrade } from '@flotilla/api/testing';
import { ApiError, type Client, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { describeUndo, makeChange, type Undo } from './change.ts';
import { pauseEffects, planResume, resumeEffects } from './pause.ts';
import { changeText, windowText } from './print.ts';
import { setWindow } from './window.ts';

const clusters = { total: 100, done: 12, failed: 0, inBatch: 8, left: 80 };
const unknown = { certainty: 'unknown' } as const;
const cached = {
  done: 12,
  failed: 1,
  pulling: 88,
  of: 500,
  states: {},
  bytesDone: unknown,
  bytesTotal: unknown,
  bytesPerSecond: unknown,
  secondsLeft: unknown,
};

test.each([
  {
    name: 'in a batch, while others pull',
    status: { clusters, cached, batch: { current: 7, of: 51 } },
    says: [
      '8 clusters in batch 7 go on to their end',
      '88 pulls end by themselves',
      '399 pulls are not begun',
      '80 clusters are not begun',
    ],
  },
  {
    name: 'before the start',
    status: { clusters: { ...clusters, inBatch: 0, left: 1 }, batch: { current: 0, of: 1 } },
    says: ['1 cluster is not begun'],
  },
])('a pause $name says what goes on and what does not begin', ({ status, says }) => {
  expect(pauseEffects(status, false)).toEqual([...says, 'time-outs stand still, windows do not']);
});

test('a pause that stops says what it stops and what it cannot', () => {
  expect(pauseEffects({ clusters, cached, batch: { current: 7, of: 51 } }, true)).toEqual([
    '8 clusters in batch 7 cannot be stopped where they upgrade already: policies are not enforced on them meanwhile, ManifestWorks stay',
    '88 pulls are stopped, and begin again after resume',
    '399 pulls are not begun',
    '80 clusters are not begun',
    'time-outs stand still, windows do not',
  ]);
});

test('the end of a pause says when nothing begins all the same', () => {
  const window = { state: 'closed', says: 'Waiting for the window' } as const;
  expect(resumeEffects({ clusters, window })).toContain('the window is closed: Waiting for the window');
  expect(resumeEffects({ clusters, window: { state: 'open' } })).toHaveLength(2);
});

test('a change shows what it writes, escaped, and how to take it back', () => {
  const text = changeText({
    object: 'ClusterGroupUpgrade ran/site',
    outcome: 'changed',
    annotations: [{ key: 'flotilla.io/paused-reason', before: '\u001b[2Jgone', after: 'ticket' }],
    clusters: 1,
    says: ['time-outs stand still'],
    undo: 'flotilla resume site -n ran',
  });
  expect(text.split('\n')).toEqual([
    'ClusterGroupUpgrade ran/site is changed, touching 1 cluster',
    '  flotilla.io/paused-reason: "\\u001b[2Jgone" -> "ticket"',
    '  time-outs stand still',
    '  undo: flotilla resume site -n ran',
  ]);
});

test.each([
  [{ state: 'none' }, 'ran/site: needs no window: batches start at any time'],
  [{ state: 'open' }, 'ran/site: window is open'],
  [{ state: 'closed', says: 'It ended' }, 'ran/site: window is closed and does not open again\n  It ended'],
  [{ state: 'invalid', says: 'no zone' }, 'ran/site: window cannot be read\n  no zone'],
] as const)('a window that is %j', (window, text) => {
  expect(windowText({ upgrade: 'ran/site', window, annotations: {} })).toBe(text);
});

/** A client of one upgrade, which somebody else may change before a write. */
function clientOf(upgrade: ClusterGroupUpgrade, between: (current: ClusterGroupUpgrade) => ClusterGroupUpgrade = (current) => current) {
  const written: { metadata: { annotations: unknown } }[] = [];
  let current = upgrade;
  const client = {
    get: async () => {
      current = between(current);
      return current;
    },
    patch: async (...[, , body]: [unknown, unknown, { metadata: { annotations: unknown } }]) => void written.push(body),
  };
  return { client: client as unknown as Client, written };
}
const site = (annotations: Record<string, string>, uid = 'uid'): ClusterGroupUpgrade => {
  const upgrade = buildClusterGroupUpgrade('site');
  return { ...upgrade, metadata: { ...upgrade.metadata, uid, annotations } };
};
const pauseOf = (object: ClusterGroupUpgrade) => ({
  kind: ClusterGroupUpgrade,
  object,
  annotations: { 'flotilla.io/paused': 'drain', 'flotilla.io/paused-reason': undefined },
  clusters: 2,
  says: [],
});

test('a change that somebody else makes before it is written is shown, and nothing is written', async () => {
  const { client, written } = clientOf(site({ a: '1' }), () =>
    site({ a: '2', 'flotilla.io/paused': 'stop', 'flotilla.io/paused-reason': 'fire' }),
  );
  const ended = await makeChange(client, pauseOf(site({ a: '1' })), { dryRun: false });
  expect(written).toEqual([]);
  expect(ended.outcome).toBe('outdated');
  expect(ended.annotations).toEqual([
    { key: 'flotilla.io/paused', before: 'stop', after: 'drain' },
    { key: 'flotilla.io/paused-reason', before: 'fire', after: undefined },
  ]);
});

test.each([
  { name: 'the same', now: site({ a: '2' }), outcome: 'changed' },
  { name: 'another annotation of the change', now: site({ 'flotilla.io/paused': 'stop' }), outcome: 'outdated' },
  { name: 'another object of the name', now: site({}, 'another'), outcome: 'outdated' },
])('what was looked at is confirmed: $name', async ({ now, outcome }) => {
  const looked = await makeChange(clientOf(site({ a: '1' })).client, pauseOf(site({ a: '1' })), { dryRun: true });
  const { client, written } = clientOf(now);
  const ended = await makeChange(client, pauseOf(now), { dryRun: false, seen: looked.seen });
  expect(ended.outcome).toBe(outcome);
  expect(written).toHaveLength(outcome === 'changed' ? 1 : 0);
  if (outcome === 'changed') return;
  const again = await makeChange(client, pauseOf(now), { dryRun: false, seen: ended.seen });
  expect([again.outcome, written.length]).toEqual(['changed', 1]);
});

test('a change that is stored is told as stored, also where nobody can see whether a hub has taken it up', async () => {
  const upgrade = buildClusterGroupUpgrade('site');
  const { client, written } = clientOf(upgrade);
  const away = new ApiError(RuntimeErrorCode.unreachable, 'list', { status: 0, reason: '', serverMessage: 'the connection was lost' });
  const change = {
    kind: ClusterGroupUpgrade,
    object: upgrade,
    annotations: { 'flotilla.io/paused': 'true' },
    clusters: 1,
    says: [],
    untilTakenUp: () => Promise.reject(away),
  };
  const ended = await makeChange(client, change, { dryRun: false });
  expect(written).toHaveLength(1);
  expect(ended.outcome).toBe('unanswered');
  expect(ended.says.join()).toMatch(/^it is stored; whether a hub has taken it up could not be seen: .*the connection was lost/);
});

test.each<{ readonly name: string; readonly had: Record<string, string>; readonly undo: string; readonly undoing: object | undefined }>([
  { name: 'a pause', had: { 'flotilla.io/paused': 'drain' }, undo: '', undoing: { action: 'pause' } },
  {
    name: 'a pause with its reason',
    had: { 'flotilla.io/paused': 'drain', 'flotilla.io/paused-reason': "the site's fire" },
    undo: " --reason 'the site'\\''s fire'",
    undoing: { action: 'pause', reason: "the site's fire" },
  },
  { name: 'a pause that stops', had: { 'flotilla.io/paused': 'stop' }, undo: ' --now', undoing: undefined },
])('what takes back a resume brings back $name', async ({ had, undo, undoing }) => {
  const { client } = clientOf(site(had));
  const change = await planResume(client, { namespace: 'default', name: 'site' }, { hubNamespace: 'flotilla' });
  const answer = await makeChange(client, change, { dryRun: true });
  expect(answer.undo).toBe(`flotilla pause site -n default${undo}`);
  expect(answer.undoing).toEqual(undoing);
});

const MONTHLY = { start: '2099-01-01T00:00:00Z', schedule: '0 2 1 * *', duration: '4h' };

test.each<{ readonly undo: Undo; readonly ref?: Ref; readonly command: string; readonly undoing: object | undefined }>([
  {
    undo: { action: 'window-set', window: MONTHLY },
    command: "flotilla window set a -n ran --start '2099-01-01T00:00:00Z' --schedule '0 2 1 * *' --duration '4h'",
    undoing: { action: 'window-set', window: MONTHLY },
  },
  { undo: { action: 'window-clear' }, command: 'flotilla window clear a -n ran', undoing: { action: 'window-clear' } },
  {
    undo: { action: 'hold', reason: 'x' },
    ref: { name: 'c' },
    command: "flotilla hold c --reason 'x'",
    undoing: { action: 'hold', reason: 'x' },
  },
  { undo: { command: 'kubectl delete cgu a' }, command: 'kubectl delete cgu a', undoing: undefined },
])(
  'a change is taken back by $command, and by the same action of the console',
  ({ undo, ref = { namespace: 'ran', name: 'a' }, command, undoing }) => {
    expect(describeUndo(undo, ref)).toEqual({ undo: command, ...(undoing && { undoing }) });
  },
);

test.each([
  { given: { start: 'yesterday' }, says: '--start is "yesterday", not an RFC 3339 time with zone; write times as ' },
  {
    given: { start: '2026-02-01T00:00:00Z', end: '2026-01-01T00:00:00Z' },
    says: '--end is "2026-01-01T00:00:00Z", not after --start "2026-02-01T00:00:00Z"; ',
  },
  { given: { schedule: '0 22 * * 6' }, says: '--schedule stands without --duration; ' },
  { given: { duration: '4h' }, says: '--duration stands without --schedule; ' },
  { given: { schedule: '0 22 * * 6', duration: '4 hours' }, says: '--duration is "4 hours", no duration between 15m and 168h; ' },
  {
    given: { schedule: '0 22 * * 6', duration: '4h', timezone: 'Mars' },
    says: '--timezone is "Mars", no time zone of the IANA database; ',
  },
])('a window by $given is refused by the names of its options', async ({ given, says }) => {
  const error = await setWindow(['site'], given).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'FLOTILLA_CONFIG', message: expect.stringContaining(says) });
  expect(String(error)).not.toContain('flotilla.io/');
});
