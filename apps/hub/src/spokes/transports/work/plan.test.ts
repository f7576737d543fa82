import { Annotation } from '@flotilla/api';
import { MAX_WORK_BYTES, ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import type { SpokeJobEffect } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import {
  applyPlanned,
  buildAction,
  buildPrecacheSettings,
  buildSpoke,
  buildTask,
  clusterObject,
  recordingClient,
  UPGRADE,
} from '../../../../testing/observation-builders.ts';
import { CREATED_AT, OURS, there, type WorkCase, workOf } from '../../../../testing/work-builders.ts';
import { createPrecacheJob, precacheNames } from '../../jobs/kinds/precache/job.ts';
import type { ActionObservation } from '../actions/observe.ts';
import { SpokePlan, type SpokeTask } from '../port/port.ts';
import { frozenMark } from './manifest-work.ts';
import { observeWork } from './observe.ts';
import { WorkEffects } from './plan.ts';

const SECOND = 1000;
const job = createPrecacheJob(buildPrecacheSettings());
const taskOf = (additionalImages: string[] = []): SpokeTask => buildTask(job, { spec: { additionalImages }, digest: 'd1' });

interface Given {
  readonly work?: WorkCase;
  readonly other?: WorkCase;
  readonly actions?: ReadonlyMap<string, ActionObservation>;
  readonly available?: boolean;
  readonly isDetached?: boolean;
  /** Seconds after the creation of the work; default 5. */
  readonly seconds?: number;
  readonly mayFallBack?: boolean;
  readonly images?: string[];
  /** Cap of now. */
  readonly cap?: number;
  readonly upgradeUid?: string;
}

async function run(effect: SpokeJobEffect, given: Given) {
  const {
    available = true,
    isDetached = false,
    seconds = 5,
    mayFallBack = false,
    actions = new Map(),
    images,
    cap,
    upgradeUid = UPGRADE.uid,
  } = given;
  const now = CREATED_AT + seconds * SECOND;
  const [work, other] = [given.work && workOf(given.work), given.other && workOf(given.other)];
  const observed = observeWork(precacheNames, { cluster: clusterObject(available), work, other, isClearing: actions.size > 0, now });
  const spoke = { observed, work, other, actions: buildSpoke({ available, actions }), isDetached, mayFallBack };
  const { client, writes, created } = recordingClient(work ? [work] : []);
  const patches: unknown[] = [];
  const patching: typeof client = {
    ...client,
    patch: async (kind, ref, patch) => {
      writes.push(`patch ${kind.plural} ${ref.name}`);
      patches.push(patch);
      return kind.schema.parse(work ?? other);
    },
  };
  const plan = new SpokePlan(now);
  const { workload, ...others } = taskOf(images);
  const task = { ...others, workload: { ...workload, findCap: () => cap }, upgrade: { ...UPGRADE, uid: upgradeUid } };
  new WorkEffects(task, spoke, 'Starting', plan)[effect]();
  await applyPlanned(plan, task, patching);
  return { writes, created, patches, at: plan.at, isMissing: plan.writes.length > 0 };
}

const create = 'create manifestworks precache-work';
const remove = 'delete manifestworks precache-work work-uid';
const release = 'patch manifestworks precache-work';
/** Work as the hub creates it; only an agent removes the finalizer. */
const made: WorkCase = { finalizers: [WORK_FINALIZER] };
const begun: WorkCase = { ...made, namespace: there(OURS) };
const running: WorkCase = { ...begun, job: there({ attempt: 'a1.0', active: 1 }) };
const foreign: WorkCase = { namespace: there({ attempt: 'b1' }) };
const lost: WorkCase = { ...begun, job: { available: 'False', availableAt: 3 } };
const clearing = new Map([['precache-ns-delete', buildAction({ deletes: 'before' })]]);

const rows: ({ name: string; effect: SpokeJobEffect; writes: string[]; at?: number } & Given)[] = [
  { name: 'creates the work', effect: 'look', writes: [create] },
  { name: 'creates nothing that a cluster would carry out whenever it returns', effect: 'look', available: false, writes: [] },
  { name: 'waits for an answer', effect: 'look', work: {}, writes: [], at: CREATED_AT + 60 * SECOND },
  { name: 'does not give up where works are what is wanted', effect: 'look', work: {}, seconds: 61, writes: [] },
  {
    name: 'goes on by actions where nobody answers for a minute',
    effect: 'look',
    work: {},
    seconds: 60,
    mayFallBack: true,
    writes: ['create managedclusterviews view-precache-namespace'],
  },
  { name: 'waits for an absent cluster', effect: 'look', work: {}, seconds: 600, available: false, mayFallBack: true, writes: [] },
  {
    name: 'is content with an agent that has seen it',
    effect: 'look',
    work: begun,
    seconds: 600,
    mayFallBack: true,
    writes: [],
  },
  { name: 'waits until its own work is gone', effect: 'look', work: { ...begun, deleting: true }, writes: [] },
  { name: "waits until another upgrade's is gone", effect: 'look', other: { ...begun, deleting: true }, writes: [] },
  { name: "removes another upgrade's work", effect: 'clear', other: begun, writes: [remove] },
  { name: "leaves another upgrade's work alone that is on its way out", effect: 'clear', other: { ...begun, deleting: true }, writes: [] },
  { name: 'removes its own work that failed', effect: 'clear', work: { ...running, annotations: frozenMark }, writes: [remove] },
  {
    name: 'removes a namespace that no work left',
    effect: 'clear',
    work: foreign,
    writes: ['create managedclusteractions precache-ns-delete', 'create managedclusteractions precache-crb-delete'],
  },
  {
    name: 'leaves a namespace alone that is on its way out',
    effect: 'clear',
    work: { namespace: there({ owner: 'uid-2', leaving: '2026-01-01T00:00:01Z' }) },
    writes: [],
  },
  { name: 'creates a work that was lost', effect: 'ensure', writes: [create] },
  { name: 'creates a work that was lost', effect: 'watch', writes: [create] },
  { name: 'has nothing to do while the job runs', effect: 'ensure', work: running, writes: [] },
  { name: 'has the job made again that vanished', effect: 'ensure', work: lost, writes: ['patch manifestworks precache-work'] },
  {
    name: 'has it made again after a pause',
    effect: 'ensure',
    work: { ...lost, annotations: { 'flotilla.io/refusals': '2' } },
    writes: [],
    at: CREATED_AT + 7 * SECOND,
  },
  { name: 'removes the work', effect: 'remove', work: running, writes: [remove] },
  {
    name: 'removes what cleared the spoke, too',
    effect: 'remove',
    work: running,
    actions: clearing,
    writes: [remove, 'deleteCollection managedclusteractions', 'deleteCollection managedclusterviews'],
  },
  { name: 'has nothing left to remove', effect: 'remove', writes: [] },
  { name: 'waits until all is removed', effect: 'remove', work: { ...running, deleting: true }, writes: [] },
  {
    name: 'keeps what failed, and begins nothing of it again',
    effect: 'forget',
    work: running,
    writes: ['patch manifestworks precache-work'],
  },
  { name: 'keeps nothing that no agent has seen', effect: 'forget', work: {}, writes: [remove] },
  { name: 'keeps it as it is', effect: 'forget', work: { ...running, annotations: frozenMark }, writes: [] },
  {
    name: 'leaves it to the agent that may be about to begin',
    effect: 'remove',
    work: made,
    writes: [remove],
    at: CREATED_AT + 60 * SECOND,
  },
  { name: 'holds nothing back that no agent has seen', effect: 'remove', work: made, seconds: 60, writes: [release, remove] },
  { name: 'lets go of it later, too', effect: 'remove', work: { ...made, deleting: true }, seconds: 60, writes: [release] },
  { name: "lets go of another upgrade's", effect: 'clear', other: { ...made, deleting: true }, seconds: 60, writes: [release] },
  {
    name: 'waits for a cluster that is away',
    effect: 'remove',
    work: { ...made, deleting: true },
    seconds: 600,
    available: false,
    writes: [],
  },
  {
    name: 'waits for no cluster that is detached',
    effect: 'remove',
    work: { ...made, deleting: true },
    available: false,
    isDetached: true,
    writes: [release],
  },
  { name: 'starts over without it', effect: 'startOver', work: running, writes: [remove] },
  {
    name: 'says the new spec in a work that no agent has seen',
    effect: 'startOver',
    work: made,
    writes: ['patch manifestworks precache-work'],
  },
  { name: 'starts over once', effect: 'startOver', work: { ...running, deleting: true }, writes: [] },
];

test.each(rows)('$effect: $name', async ({ effect, writes, at, ...given }) => {
  const done = await run(effect, given);
  expect(done.writes.map((write) => write.replace(/ flotilla.io.*$/, ''))).toEqual(writes);
  expect(done.at).toBe(at);
  expect(done.isMissing).toBe(writes.length > 0);
});

test("each work is an attempt of its own, and another upgrade's is never the same", async () => {
  const attempts = [];
  for (const given of [{ seconds: 5 }, { seconds: 6 }, { seconds: 5, upgradeUid: 'uid-2' }]) {
    const [work] = (await run('look', given)).created;
    attempts.push(work?.metadata.annotations?.[Annotation.attempt]);
  }
  expect(new Set(attempts).size).toBe(3);
});

test('a frozen work leaves every object as it is, and says so; never another work of the name', async () => {
  const [patch] = (await run('forget', { work: running })).patches;
  const { metadata, spec } = ManifestWork.schema.parse({ ...Object(patch), metadata: { name: 'x', ...Object(patch).metadata } });
  expect(metadata).toMatchObject({ uid: 'work-uid', annotations: frozenMark });
  expect(spec?.workload).toBeUndefined();
  expect(new Set(spec?.manifestConfigs?.map(({ updateStrategy }) => updateStrategy?.type))).toEqual(new Set(['ReadOnly']));
});

test('a job that vanished is another one, of the same attempt', async () => {
  const [patch] = (await run('ensure', { work: lost })).patches;
  const { metadata, spec } = ManifestWork.schema.parse({ ...Object(patch), metadata: { name: 'x', ...Object(patch).metadata } });
  expect(metadata.annotations).toMatchObject({ [Annotation.attempt]: 'a1', 'flotilla.io/refusals': '1' });
  expect(JSON.stringify(spec)).toContain('"flotilla.io/attempt":"a1.1"');
});

test('a work that would be too big goes by actions, and says why', async () => {
  const images = Array.from({ length: 5_000 }, (_, at) => `registry.example/${'x'.repeat(110)}:${at}`);
  const { created } = await run('look', { images });
  expect(created.map(({ metadata }) => metadata.name)).toEqual(['view-precache-namespace']);
  expect(created[0]?.metadata.annotations?.['flotilla.io/work-refused']).toMatch(
    new RegExp(`^a work of \\d+ bytes is more than the ${MAX_WORK_BYTES} allowed$`),
  );
});

test('a work that no agent has seen is another attempt when it starts over, unless one sees it meanwhile', async () => {
  const [patch] = (await run('startOver', { work: made })).patches;
  const { metadata, spec } = ManifestWork.schema.parse({ ...Object(patch), metadata: { name: 'x', ...Object(patch).metadata } });
  expect(metadata).toMatchObject({ uid: 'work-uid', resourceVersion: '7' });
  expect(metadata.annotations?.[Annotation.attempt]).not.toBe('a1');
  expect(spec?.workload?.manifests?.length).toBeGreaterThan(3);
});

const CAP = 'flotilla.io/cap';
const capped: WorkCase = { ...running, annotations: { [CAP]: '400000 2026-01-01T00:00:00.000Z' }, spec: {} };
const tests = [
  { op: 'test', path: '/metadata/uid', value: 'work-uid' },
  { op: 'test', path: '/spec/workload/manifests/4/metadata/name', value: 'pre-cache-spec' },
];
const [mark, key] = ['/metadata/annotations/flotilla.io~1cap', '/spec/workload/manifests/4/data/bandwidth'];

test.each<{ name: string; work: WorkCase; cap?: number; want: object[] | undefined }>([
  {
    name: 'one that changed',
    work: capped,
    cap: 300_000,
    want: [...tests, { op: 'add', path: mark, value: '300000 2026-01-01T00:00:05.000Z' }, { op: 'add', path: key, value: '300000' }],
  },
  { name: 'one that is gone', work: capped, want: [...tests, { op: 'remove', path: mark }, { op: 'remove', path: key }] },
  { name: 'none that is there already', work: capped, cap: 400_000, want: undefined },
  { name: 'none before the agent has said where the ConfigMap is', work: running, cap: 300_000, want: undefined },
  { name: 'none in a frozen work', work: { ...capped, annotations: frozenMark }, cap: 300_000, want: undefined },
])('a job that runs gets a cap in its ConfigMap alone: $name', async ({ work, cap, want }) => {
  for (const effect of ['watch', 'ensure'] as const)
    expect((await run(effect, { work, ...(cap && { cap }) })).patches).toEqual(want ? [want] : []);
});

test('a work says the cap that it begins with', async () => {
  const [work] = (await run('look', { cap: 300_000 })).created;
  expect(work?.metadata.annotations?.[CAP]).toBe('300000 2026-01-01T00:00:05.000Z');
  expect((await run('look', {})).created[0]?.metadata.annotations?.[CAP]).toBeUndefined();
});
