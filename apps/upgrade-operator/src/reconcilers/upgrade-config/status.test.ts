import { ClusterVersion } from '@flotilla/api/config';
import { EndReason, UpgradeCondition, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { ApiError, RefusedValues, RuntimeErrorCode } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { UpgradeDraft, ValidationReason } from './status.ts';
import { StatusWriter, UpgradeConfigGoneError } from './status-writer.ts';

const NOW = Date.parse('2026-02-01T10:00:00Z');
const TIME = '2026-02-01T10:00:00Z';
const spec = { type: 'OSD', upgradeAt: '2026-02-01T09:00:00Z', PDBForceDrainTimeout: 60, desired: { version: '4.14.12', channel: 'c' } };
const build = (...history: UpgradeHistory[]): UpgradeConfig =>
  UpgradeConfig.schema.parse({
    metadata: { name: 'u', namespace: 'n', uid: 'u', resourceVersion: '1' },
    spec,
    status: { observedGeneration: -1, history },
  });
const clusterVersion = ClusterVersion.schema.parse({
  metadata: { name: 'version' },
  spec: { clusterID: 'x' },
  status: { desired: { version: '4.14.9', image: 'i' } },
});
const draftOf = (upgradeConfig: UpgradeConfig) => new UpgradeDraft(upgradeConfig, clusterVersion, () => NOW);
const waiting: UpgradeHistory = { version: '4.14.12', precedingVersion: '4.14.9', phase: 'Pending' };
const said = (draft: UpgradeDraft, type: UpgradeCondition) => draft.entry.conditions?.find((condition) => condition.type === type);

test.each([
  {
    name: 'nobody has seen',
    history: [],
    isNew: true,
    want: { version: '4.14.12', precedingVersion: '4.14.9', phase: 'New', conditions: [] },
  },
  { name: 'was seen', history: [waiting], isNew: false, want: waiting },
  { name: 'was an image', history: [{ phase: 'Pending' as const }], isNew: false, want: waiting },
])('the entry of an upgrade that $name', ({ history, isNew, want }) => {
  const draft = draftOf(build(...history));
  expect(draft.isNew).toBe(isNew);
  expect(draft.entry).toEqual(want);
});

test('the version that is left behind is noted as soon as it is known, and stays', () => {
  const draft = new UpgradeDraft(build(), undefined, () => NOW);
  expect(draft.entry).toEqual({ version: '4.14.12', phase: 'New', conditions: [] });
  expect(draftOf(build({ ...draft.entry, phase: 'Pending' })).entry.precedingVersion).toBe('4.14.9');
  expect(draftOf(build({ ...waiting, precedingVersion: '4.14.8' })).entry.precedingVersion).toBe('4.14.8');
  expect(draftOf(build({ ...waiting, precedingVersion: undefined, phase: 'Upgraded' })).entry).not.toHaveProperty(
    'precedingVersion',
    '4.14.9',
  );
});

test.each([
  { phase: 'Upgrading', want: { startTime: TIME, begunWith: { type: 'OSD', upgradeAt: spec.upgradeAt, desired: spec.desired } } },
  { phase: 'Upgraded', want: { completeTime: TIME } },
  { phase: 'Failed', want: {} },
  { phase: 'Pending', want: {} },
] as const)('entering $phase notes %j', ({ phase, want }) => {
  const draft = draftOf(build(waiting));
  draft.enter(phase);
  expect(draft.entry).toEqual({ ...waiting, phase, ...want });
});

test.each([
  { reason: ValidationReason.valid, status: 'True' },
  { reason: ValidationReason.refused, status: 'False' },
  { reason: ValidationReason.unknown, status: 'Unknown' },
])('validation that is $reason is $status', ({ reason, status }) => {
  const draft = draftOf(build(waiting));
  draft.sayValidated(reason, 'why');
  expect(said(draft, UpgradeCondition.validated)).toMatchObject({ status, reason, message: 'why' });
});

describe.each([UpgradeCondition.configured, UpgradeCondition.clusterVersionFound, UpgradeCondition.synced])('%s', (type) => {
  const problem = { reason: 'Wrong', message: 'mend it' };
  test('is said of nothing that was never wrong', () => {
    const draft = draftOf(build(waiting));
    draft.say(type, undefined);
    expect(draft.entry).toEqual(waiting);
  });
  test('is said while it is wrong, and once it is mended', () => {
    const draft = draftOf(build(waiting));
    draft.say(type, problem);
    expect(said(draft, type)).toMatchObject({ status: 'False', ...problem });
    draft.say(type, undefined);
    expect(said(draft, type)).toMatchObject({ status: 'True', message: expect.not.stringContaining('mend') });
  });
});

test('a notification is noted when it is due, keeps why it cannot be told, and when it was told', () => {
  const draft = draftOf(build(waiting));
  draft.noteNotification('StateDelayed', { isTold: false, detail: 'drain' });
  expect(draft.entry.notifications).toEqual([{ state: 'StateDelayed', detail: 'drain' }]);
  draft.noteNotification('StateDelayed', { isTold: false, problem: 'refused' });
  expect(draft.entry.notifications).toEqual([{ state: 'StateDelayed', detail: 'drain', message: 'refused' }]);
  draft.noteNotification('StateDelayed', { isTold: true });
  draft.noteNotification('StateCompleted', { isTold: true });
  expect(draft.entry.notifications).toEqual([
    { state: 'StateDelayed', detail: 'drain', time: TIME },
    { state: 'StateCompleted', time: TIME },
  ]);
});

describe('saving', () => {
  const notFound = new ApiError(RuntimeErrorCode.notFound, 'patch', { status: 404, reason: 'NotFound', serverMessage: 'gone' });
  const refused = new ApiError(RuntimeErrorCode.invalid, 'patch', { status: 422, reason: 'Invalid', serverMessage: 'no' });
  /** A server that stores what it is sent, and counts it. */
  const store = ({ refusal, uid = 'u' }: { readonly refusal?: Error; readonly uid?: string } = {}) => {
    const patches: unknown[] = [];
    const stored = build({ ...waiting, phase: 'Upgrading' });
    const client = {
      get: async () => ({ ...stored, metadata: { ...stored.metadata, uid } }) as never,
      async patch(_kind: unknown, _ref: unknown, patch: unknown) {
        patches.push(patch);
        if (refusal) throw refusal;
        return { ...stored, metadata: { ...stored.metadata, resourceVersion: '2' } } as never;
      },
    };
    return { patches, client };
  };
  const { signal } = new AbortController();
  const writerOf = (client: ReturnType<typeof store>['client']) =>
    new StatusWriter({ client, cache: { wrote: () => undefined }, refused: new RefusedValues() });
  const change = () => {
    const draft = draftOf(build(waiting));
    draft.enter('Upgrading');
    return draft;
  };

  test('writes nothing, and is no event, where nothing is different', async () => {
    const { patches, client } = store();
    expect(await draftOf(build(waiting)).save(writerOf(client), signal)).toEqual([]);
    expect(patches).toEqual([]);
  });

  test('writes to this object in whatever version it is, and says what the new state is worth', async () => {
    const { patches, client } = store();
    const events = await change().save(writerOf(client), signal);
    expect(patches).toMatchObject([
      [
        { op: 'test', path: '/metadata/uid', value: 'u' },
        { op: 'add', path: '/status', value: { history: [{ phase: 'Upgrading' }] } },
      ],
    ]);
    expect(events).toMatchObject([{ reason: 'UpgradeUnderWay', regarding: { kind: 'UpgradeConfig', name: 'u', uid: 'u' } }]);
  });

  test('sends nothing again that a definition of others drops', async () => {
    const patches: unknown[] = [];
    const client = {
      get: async () => undefined as never,
      async patch(_kind: unknown, _ref: unknown, patch: readonly [unknown, { readonly value: { readonly history: UpgradeHistory[] } }]) {
        patches.push(patch);
        return { ...build(), status: { history: patch[1].value.history } } as never;
      },
    };
    const writer = writerOf(client as never);
    const passOf = (upgradeConfig: UpgradeConfig) => {
      const draft = draftOf({ ...upgradeConfig, metadata: { ...upgradeConfig.metadata, generation: 2 } });
      draft.sayPassed(false);
      return draft;
    };
    await passOf(build(waiting)).save(writer, signal);
    expect(patches).toHaveLength(1);
    const stored = { ...build(waiting), status: { history: [waiting] } };
    await passOf(stored).save(writer, signal);
    expect(patches).toHaveLength(1);
    const begun = passOf(stored);
    begun.enter('Upgrading');
    await begun.save(writer, signal);
    expect(patches).toHaveLength(2);
  });

  test.each([
    { name: 'is gone', given: { refusal: notFound } },
    { name: 'is of another that has its name', given: { refusal: refused, uid: 'other' } },
  ])('the status of an UpgradeConfig that $name is not taken for saved', async ({ given }) => {
    await expect(change().save(writerOf(store(given).client), signal)).rejects.toThrow(UpgradeConfigGoneError);
  });

  test('what else the server says is thrown as it says it', async () => {
    await expect(change().save(writerOf(store({ refusal: refused }).client), signal)).rejects.toBe(refused);
  });
});

describe('another attempt', () => {
  const begunWith = { type: 'OSD', upgradeAt: spec.upgradeAt, desired: spec.desired } as const;
  const ended = (phase: UpgradeHistory['phase'], reason?: string): UpgradeHistory => ({
    ...waiting,
    phase,
    begunWith,
    ...(reason !== undefined && { conditions: [{ type: UpgradeCondition.ended, status: 'True', reason }] }),
  });
  const later = { ...begunWith, upgradeAt: '2026-01-31T00:00:00Z' };
  test.each([
    { name: 'none while the spec is the one it failed with', history: [ended('Failed')], isNew: false },
    { name: 'after a failure, at another time', history: [{ ...ended('Failed'), begunWith: later }], isNew: true },
    { name: 'after an end, at another time', history: [{ ...ended('Upgraded'), begunWith: later }], isNew: true },
    { name: 'after a withdrawal, at the same time again', history: [ended('Failed', EndReason.withdrawn)], isNew: true },
    {
      name: 'after a failure of an operator that does not say with what it began',
      history: [{ ...ended('Failed'), begunWith: undefined, startTime: '2026-01-01T00:00:00Z' }],
      isNew: true,
    },
    {
      name: 'none after such a failure of an upgrade that was due by then',
      history: [{ ...ended('Failed'), begunWith: undefined, startTime: '2026-02-01T09:00:01Z' }],
      isNew: false,
    },
  ])('$name', ({ history, isNew }) => {
    const draft = draftOf(build(...history));
    expect(draft.isNew).toBe(isNew);
    expect(draft.entry.phase).toBe(isNew ? 'New' : 'Failed');
    draft.change({ workerStartTime: TIME });
    // Only the attempt's own entry changes where two entries have one version.
    expect(draft.earlier).toEqual(isNew ? history : []);
  });

  test('one that has ended says what begins another', () => {
    const draft = draftOf(build(ended('Failed')));
    draft.sayEnded(EndReason.givenUp);
    expect(said(draft, UpgradeCondition.ended)).toMatchObject({
      status: 'True',
      reason: 'GivenUp',
      message: expect.stringMatching(/is not tried again: set another spec\.upgradeAt/),
    });
  });
});
