/** Upgrades withdrawn in each step of both upgraders, in each way, with the operator killed or not. */
import { ClusterVersion } from '@flotilla/api/config';
import { Namespace } from '@flotilla/api/core';
import { FileIntegrity, MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { UpgradeConfig, type UpgradeType } from '@flotilla/api/managed';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { type ClusterActors, clearCluster, createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { systemClock } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { type Client, WatchCache } from '@flotilla/runtime';
import { type StepName, upgraders } from '@flotilla/upgrade';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryWorld } from './memory-world.ts';
import { CASE_REF, createUpgrade, memoryCluster } from './operator-case.ts';
import { MemoryOcm, MortalOperator } from './withdrawn-case.ts';

const TARGET = '4.14.12';
const NEXT = '4.14.13';
const HOUR = 3_600_000;
const INTEGRITY = { namespace: 'openshift-file-integrity', name: 'osd-fileintegrity' };
const CHANNEL = 'stable-4.14';
const VERSION_REF = { name: 'version' };

const WAYS = ['policy gone', 'CR deleted', 'other version', 'other time'] as const;
type Way = (typeof WAYS)[number];
const KILLS = ['alive', 'killed'] as const;
type Kill = (typeof KILLS)[number];

interface Case {
  readonly type: UpgradeType;
  readonly step: StepName;
  readonly way: Way;
  readonly kill: Kill;
}

const casesOf = (type: UpgradeType): readonly Case[] =>
  upgraders[type].steps.flatMap((step) => WAYS.flatMap((way) => KILLS.map((kill) => ({ type, step, way, kill }))));
const isBeforeCommencing = ({ type, step }: Case) => upgraders[type].steps.indexOf(step) <= upgraders[type].steps.indexOf('commence');

let client: Client;
const counts = { cases: 0, before: 0, patched: 0, left: 0, after: 0, wentOn: 0, said: 0, killed: 0, slowestMs: 0 };

const stored = () => client.get(UpgradeConfig, CASE_REF);
const phases = async () => ((await stored())?.status?.history ?? []).map(({ version, phase }) => `${version} ${phase}`).join(', ');
const surgeSets = async () =>
  (await client.list(MachineSet, { namespace: MACHINE_NAMESPACE })).items.filter(({ metadata }) => metadata.name.endsWith('-upgrade'));

/** One upgrade of one cluster, and what becomes of it. */
class Story implements AsyncDisposable {
  readonly world = new MemoryWorld();
  readonly ocm = new MemoryOcm();
  readonly #case: Case;
  readonly #watching = new AbortController();
  readonly #operators: MortalOperator[] = [];
  #actors: ClusterActors | undefined;
  /** Channels and versions that the ClusterVersion asked for, in order. */
  readonly asked: string[] = [];

  constructor(given: Case) {
    this.#case = given;
    const configManager = this.#isOfOcm ? ({ source: 'OCM', ocmBaseUrl: 'http://ocm', watchInterval: 60 } as const) : { watchInterval: 60 };
    this.world.config = { ...this.world.config, upgradeType: given.type, configManager, environment: { fedramp: given.type === 'OSD' } };
  }

  /** True when OCM provides the upgrade; otherwise the user who edits or deletes the UpgradeConfig does. */
  get #isOfOcm(): boolean {
    const { way, type } = this.#case;
    return way === 'policy gone' || (way !== 'CR deleted' && type === 'OSD');
  }

  async begin(): Promise<void> {
    await createSmallCluster(client, { workers: 1 });
    await client.create(FileIntegrity, { metadata: INTEGRITY });
    this.#actors = await startClusterActors({
      client,
      offers: { [CHANNEL]: [TARGET, NEXT] },
      pace: { controlPlaneMs: 10, machineMs: 10, nodeMs: 10 },
    });
    const versions = new WatchCache(client, ClusterVersion);
    versions.subscribe(({ type, object: { spec }, previous }) => {
      const textOf = (of: typeof spec | undefined) => `${of?.channel} ${of?.desiredUpdate?.version ?? 'nothing'}`;
      if (type === 'set' && previous && textOf(spec) !== textOf(previous.spec)) this.asked.push(textOf(spec));
    });
    versions.start(this.#watching.signal);
    await versions.synced();
  }

  /** Asks for the upgrade, as whoever decides does. */
  async ask(desired: string, at: number): Promise<void> {
    if (this.#isOfOcm) {
      this.ocm.want({ version: desired, at });
      for (const operator of this.#operators) operator.sync();
      return;
    }
    const spec = { desired: { version: desired, channel: CHANNEL }, upgradeAt: new Date(at).toISOString() };
    if (await stored()) await client.patch(UpgradeConfig, CASE_REF, { spec }, { type: 'merge' });
    else await createUpgrade(client, { type: this.#case.type, capacityReservation: true, ...spec });
  }

  async withdraw(): Promise<void> {
    const { way } = this.#case;
    if (way === 'CR deleted') await client.delete(UpgradeConfig, CASE_REF);
    else if (way === 'policy gone') this.ocm.want(undefined);
    else await this.ask(way === 'other version' ? NEXT : TARGET, Date.now() + HOUR);
  }

  operate(hold?: ConstructorParameters<typeof MortalOperator>[1]): MortalOperator {
    const operator = new MortalOperator({ client, world: this.world, ocm: this.ocm }, hold);
    this.#operators.push(operator);
    return operator;
  }

  /** OCM was asked since, where it decides. */
  async synced(operator: MortalOperator): Promise<void> {
    if (!this.#isOfOcm) return;
    const before = operator.syncs;
    operator.sync();
    await eventually(() => operator.syncs > before, 'OCM to be asked', 60_000, 5);
  }

  get stands(): boolean {
    return this.world.silences.some(({ active }) => active);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching.abort();
    for (const operator of this.#operators) await operator.stop();
    await this.#actors?.stop();
    await client.delete(UpgradeConfig, CASE_REF);
    await client.delete(FileIntegrity, INTEGRITY);
    await clearCluster(client);
  }
}

const nothingLeft = (story: Story) => async () => !story.stands && (await surgeSets()).length === 0;

/** Holds the upgrade in its step, withdraws it there, and has an operator go on. */
async function withdrawIn(story: Story, given: Case): Promise<void> {
  const { step, kill } = given;
  const isBefore = isBeforeCommencing(given);
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const first = story.operate({
    step,
    isBefore: step === 'commence',
    endsPass: !isBefore,
    until: async () => {
      arrived.resolve();
      await released.promise;
    },
  });
  await story.ask(TARGET, Date.now() - 1_000);
  await arrived.promise;
  counts.killed += kill === 'alive' ? 0 : 1;
  if (kill === 'killed') {
    await first.kill();
    await story.withdraw();
    const second: MortalOperator = story.operate(isBefore ? undefined : { step, endsPass: true, until: () => story.synced(second) });
    return;
  }
  await story.withdraw();
  await story.synced(first);
  released.resolve();
}

async function endsThere(story: Story, { way }: Case): Promise<void> {
  const withdrawnAt = Date.now();
  if (way === 'policy gone' || way === 'CR deleted') {
    await eventually(async () => (await stored()) === undefined, 'the UpgradeConfig to go', 60_000, 20);
    await eventually(nothingLeft(story), 'everything to be taken back', 60_000, 20);
    // One pass at a time: when the next upgrade is looked at, the one that was withdrawn has seen its last.
    await story.ask(NEXT, Date.now() + HOUR);
    await eventually(async () => (await phases()) === `${NEXT} Pending`, 'the next one to wait', 60_000, 20);
  } else {
    const next = `${way === 'other version' ? NEXT : TARGET} Pending`;
    await eventually(async () => (await phases()) === `${next}, ${TARGET} Failed`, `${next} after one that has ended`, 60_000, 20);
    await eventually(nothingLeft(story), 'everything to be taken back', 60_000, 20);
    const [, ended] = (await stored())?.status?.history ?? [];
    expect(ended?.conditions?.find(({ type }) => type === 'UpgradeEnded')).toMatchObject({ status: 'True', reason: 'Withdrawn' });
  }
  counts.slowestMs = Math.max(counts.slowestMs, Date.now() - withdrawnAt);
}

async function goesOn(story: Story, { way, kill }: Case): Promise<void> {
  const applied = async () => {
    const [latest] = (await client.get(ClusterVersion, VERSION_REF))?.status?.history ?? [];
    return latest?.version === TARGET && latest.state === 'Completed';
  };
  await eventually(applied, 'the version to be applied', 60_000, 20);
  counts.wentOn += 1;
  const said = () => story.world.events.some((event) => /^(ChangeHeld|UpgradeConfigDeleted): /.test(event));
  if (way === 'CR deleted') await eventually(async () => (await stored()) === undefined, 'the UpgradeConfig to be gone');
  else {
    await eventually(said, 'what is held to be said', 60_000, 20);
    const end = {
      'policy gone': '',
      'other version': `${NEXT} Pending, ${TARGET} Upgraded`,
      'other time': `${TARGET} Upgraded, ${TARGET} Upgraded`,
    }[way];
    await eventually(async () => (await phases()) === end, `the history ${end}`, 60_000, 20);
  }
  await eventually(nothingLeft(story), 'everything to be taken back', 60_000, 20);
  // Otherwise nobody was there to see it go, and it left nothing to tell of it.
  if (kill === 'alive') await eventually(said, 'what became of it to be said', 60_000, 20);
  counts.said += said() ? 1 : 0;
}

/** One test for each step of an upgrader, way to withdraw, and fate of the operator; a server in memory for all of them. */
export function describeWithdrawn(type: UpgradeType): void {
  beforeAll(async () => {
    client = memoryCluster(systemClock).client();
    await client.create(Namespace, { metadata: { name: INTEGRITY.namespace } });
  });
  afterAll(async () => {
    process.stdout.write(`withdrawn: ${JSON.stringify(counts)}\n`);
    await client?.close();
  });

  // Seven and the eight ways of a step have no common divisor, so each way and each step is among them.
  const { withdrawnEvery } = readEnvironment();
  test.for(casesOf(type).filter((_, index) => index % withdrawnEvery === 0))(
    '$type in $step: $way, $kill',
    { timeout: 240_000 },
    async (given) => {
      await using story = new Story(given);
      await story.begin();
      await withdrawIn(story, given);
      const isBefore = isBeforeCommencing(given);
      counts.cases += 1;
      counts[isBefore ? 'before' : 'after'] += 1;
      try {
        await (isBefore ? endsThere(story, given) : goesOn(story, given));
      } finally {
        if (isBefore && story.asked.length > 0) counts.patched += 1;
        if (!(await nothingLeft(story)())) counts.left += 1;
      }
      expect(story.asked).toEqual(isBefore ? [] : [`${CHANNEL} ${TARGET}`]);
    },
  );
}
