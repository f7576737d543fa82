/** Any edit of any field of a release is refused by the server, put back, or given away by a contract that says so. */
import { isSameJson, KubeObject, type Resource, untyped } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { RandomValues } from '@flotilla/control-plane/fuzzing';
import { startApiServer } from '@flotilla/control-plane/servers';
import { fieldChanges } from '@flotilla/release';
import { contractsOver } from '@flotilla/release/testing';
import { ApiError, createLogger } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countedCalls } from '../testing/counted-calls.ts';
import { allowedTable, documentedContracts } from '../testing/fields/allowed-edits.ts';
import { editsOf, type FieldEdit } from '../testing/fields/field-edits.ts';
import type { FieldObject } from '../testing/fields/field-object.ts';
import { fieldObjects } from '../testing/fields/field-objects.ts';
import { foreignDefinitions } from '../testing/fields/foreign.ts';
import { playWorkloads } from '../testing/played-workloads.ts';
import { type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

/** `npm run matrix:fields` makes all edits, with SEED in another order; the suite makes a few of each object, or `CELLS` of each. */
const { CELLS = '8', SEED = '0' } = process.env;
const MOST_EDITS = CELLS === 'all' ? Number.POSITIVE_INFINITY : Number(CELLS);
const PUT_BACK_MS = 5_000;

const release: TestRelease = {
  version: '4.1.0',
  files: Object.fromEntries(
    fieldObjects.map(({ object }, index) => [`0000_${10 + index}_fields_00_${object.metadata.name}.json`, [object]]),
  ),
};

type Outcome = 'refused' | 'no change' | 'put back' | 'lost' | 'not given away' | 'allowed';
interface Edited {
  readonly one: FieldObject;
  readonly edit: FieldEdit;
}

let world: World;
let operator: RunningOperator;
let passes = 0;
const calls: { verb: string; kind: string }[] = [];
const normal = new Map<FieldObject, KubeObject>();
const outcomes = new Map<string, Outcome>();
/** Contracts of the edits that stay. */
const allowed = new Map<string, string>();

const kindOf = ({ object, plural }: FieldObject): Resource =>
  untyped(String(object.apiVersion), String(object.kind), plural, object.metadata.namespace !== undefined);
async function read(one: FieldObject): Promise<KubeObject> {
  const found = await world.client.get<KubeObject>({ ...kindOf(one), schema: KubeObject }, one.object.metadata);
  if (!found) throw new Error(`${one.object.metadata.name} is not there`);
  return found;
}
/** All that a manifest can be about, the server's own counters aside: a DaemonSet has one of its templates among its annotations. */
function contentOf(object: KubeObject): unknown {
  const { labels, annotations, ownerReferences, finalizers } = object.metadata;
  const { 'deprecated.daemonset.template.generation': _, ...others } = annotations ?? {};
  const { status: __, ...rest } = object;
  return { ...rest, metadata: { labels, annotations: others, ownerReferences, finalizers } };
}
function isNormal(one: FieldObject, object: KubeObject): boolean {
  const stored = normal.get(one);
  return stored !== undefined && isSameJson(contentOf(object), contentOf(stored));
}
const passed = async (more: number): Promise<void> => {
  const first = passes;
  await world.until(async () => passes >= first + more, 120_000);
};
const start = (): RunningOperator => {
  const write = (line: string) => {
    if (line.includes('Applied the release')) passes += 1;
  };
  const logger = createLogger({ name: 'test', level: 'debug', destination: { write } });
  const client = countedCalls(world.client, (call) => void calls.push(call));
  return world.run(release, [], { client, logger, passEveryMs: 50 });
};
const isOfObjects = ({ kind }: { kind: string }) => kind !== 'ClusterVersion';

/** Waits for twenty passes on end without a call about an object: kinds whose watch a busy server has ended are listed once more. */
async function quiet(): Promise<void> {
  let last: unknown = 'no twenty passes';
  const without = async () => {
    calls.length = 0;
    await passed(20);
    last = calls.filter(isOfObjects);
    return Array.isArray(last) && last.length === 0;
  };
  await world.until(without, 60_000).catch(() => undefined);
  expect(last).toEqual([]);
}

beforeAll(async () => {
  world = await World.start(await startApiServer(), [...configCrds(), ...foreignDefinitions()]);
  playWorkloads(world);
  operator = start();
  await world.completed(release);
  await quiet();
  for (const one of fieldObjects) normal.set(one, await read(one));
}, 180_000);
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

/** Steady passes that neither read nor write any object of the release. */
async function expectSteady(): Promise<void> {
  await quiet();
  const versions = fieldObjects.map(async (one) => ({ one, version: (await read(one)).metadata.resourceVersion }));
  const written = (await Promise.all(versions)).filter(({ one, version }) => version !== normal.get(one)?.metadata.resourceVersion);
  expect(written.map(({ one: { object } }) => `${String(object.kind)} ${object.metadata.name}`)).toEqual([]);
}

test('nothing of a release is written or read in steady passes, whatever its kinds and fields', expectSteady);

test('nor is anything written by a start', { retry: 0 }, async () => {
  await operator.stop();
  calls.length = 0;
  operator = start();
  await expectSteady();
});

/** The edits of each object in a random order, a few of each where not all are made. */
function chosenEdits(): Edited[][] {
  const random = new RandomValues(Number(SEED), 'fields');
  const byObject = fieldObjects.map((one) =>
    editsOf(one.object, one.more)
      .map((edit) => ({ edit, order: random.below(1e9) }))
      .sort((a, b) => a.order - b.order)
      .slice(0, MOST_EDITS)
      .map(({ edit }) => ({ one, edit })),
  );
  const rounds = Math.max(...byObject.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => byObject.flatMap((edits) => edits[round] ?? []));
}

const nameOf = ({ one, edit }: Edited): string => `${String(one.object.kind)} ${one.object.metadata.name}: ${edit.path} ${edit.how}`;

/** Makes an edit by hand; its outcome where the server alone decides it. */
async function make({ one, edit }: Edited): Promise<Outcome | undefined> {
  try {
    const edited = await world.client.patch<KubeObject>({ ...kindOf(one), schema: KubeObject }, one.object.metadata, edit.patch, {
      type: 'json',
    });
    return isNormal(one, edited) ? 'no change' : undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) return 'refused';
    throw error;
  }
}

const contractOf = ({ one, edit }: Edited): string | undefined => {
  if (/^metadata\.(labels|annotations) extended/.test(`${edit.path} ${edit.how}`)) return 'metadata';
  return one.given?.find(([, edits]) => edits.test(`${edit.path} ${edit.how}`))?.[0];
};

/** Has an object as the release has it again, after an edit that stays; the operator may write it meanwhile. */
async function restore(one: FieldObject): Promise<void> {
  const { metadata, ...rest } = normal.get(one) ?? (await read(one));
  const written = async () => {
    const { resourceVersion } = (await read(one)).metadata;
    const object = KubeObject.parse({ ...rest, metadata: { ...metadata, resourceVersion } });
    return world.client.replace(kindOf(one), object).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 409) return undefined;
      throw error;
    });
  };
  await world.until(written);
}

/** Outcomes after which an edit is still there. */
const STAYS: ReadonlySet<Outcome> = new Set(['lost', 'not given away', 'allowed']);

async function outcomeOf(edited: Edited, isLate: () => boolean): Promise<Outcome | undefined> {
  const live = await read(edited.one);
  if (isNormal(edited.one, live)) return 'put back';
  const contract = contractOf(edited);
  if (contract === undefined) return isLate() ? 'lost' : undefined;
  // the case names a contract, and the rules of the contract say if it is over this field
  if (!contractsOver(live, edited.one.object, edited.edit.path).has(contract)) return 'not given away';
  allowed.set(nameOf(edited), contract);
  return 'allowed';
}

async function playRound(round: readonly Edited[]): Promise<void> {
  const made = await Promise.all(round.map(async (edited) => ({ edited, outcome: await make(edited) })));
  await passed(2);
  const lateMs = Date.now() + PUT_BACK_MS;
  await Promise.all(
    made.map(async ({ edited, outcome }) => {
      let end = outcome;
      await world.until(async () => (end ??= await outcomeOf(edited, () => Date.now() > lateMs)), PUT_BACK_MS * 3);
      outcomes.set(nameOf(edited), end ?? 'lost');
      if (end === 'lost') console.log(nameOf(edited), JSON.stringify(fieldChanges(normal.get(edited.one) ?? {}, await read(edited.one))));
      if (end !== undefined && STAYS.has(end)) await restore(edited.one);
    }),
  );
}

test('no edit by hand is lost', { timeout: 3_600_000, retry: 0 }, async () => {
  for (const round of chosenEdits()) await playRound(round);
  const counts = Map.groupBy(outcomes.values(), (outcome) => outcome);
  console.log(JSON.stringify({ edits: outcomes.size, ...Object.fromEntries([...counts].map(([outcome, all]) => [outcome, all.length])) }));
  console.log(allowedTable([...allowed].map(([edit, contract]) => [contract, edit])));
  const namesOf = (one: Outcome) => [...outcomes].filter(([, outcome]) => outcome === one).map(([name]) => name);
  expect(namesOf('lost')).toEqual([]);
  expect(namesOf('not given away')).toEqual([]);
  expect(namesOf('allowed').filter((name) => !documentedContracts().has(allowed.get(name) ?? ''))).toEqual([]);
});

test('after all of that steady passes neither read nor write', async () => {
  await passed(3);
  for (const one of fieldObjects) normal.set(one, await read(one));
  await expectSteady();
});
