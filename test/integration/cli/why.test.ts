/** `flotilla why` names the first cause of a wait, and what it names releases it: injected causes beside a hub. */
import type { WhyAnswer } from '@flotilla/api/answers';
import { Lease } from '@flotilla/api/core';
import { answerStatusOf, answerWhyAllOf, answerWhyOf } from '@flotilla/cli/testing';
import { mapConcurrently } from '@flotilla/pace';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RECOVERY } from '../backup/backups.ts';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn, upgradeRef } from '../world.ts';
import { byPrecaching, type Cause, comply, inBatch, type Scene } from './causes/cause.ts';
import { ofBatches } from './causes/of-batches.ts';
import { ofClusters } from './causes/of-clusters.ts';
import { ofGates } from './causes/of-gates.ts';
import { ofJobs } from './causes/of-jobs.ts';
import { ofPlan } from './causes/of-plan.ts';

const CAUSES: readonly Cause[] = [...ofPlan, ...ofGates, ...ofClusters, ...ofJobs, ...ofBatches];
/** Spokes of what takes time, and of a hub that is gone. */
const [LATE, ALONE] = [['late-1', 'late-2'] as const, ['alone-1', 'alone-2'] as const];
const namesOf = (index: number) => ({ name: `w${index}`, spokes: [`w${index}-1`, `w${index}-2`] as const });

const ETCD = {
  history: [{ state: 'Partial' }],
  conditions: [
    { type: 'Progressing', status: 'True', message: 'Working towards 4.14.12: 700 of 859 done (81% complete), waiting on etcd' },
  ],
};
const test = testIn(() =>
  RolloutWorld.start({
    spokes: [...CAUSES.flatMap((_, index) => namesOf(index).spokes), ...LATE, ...ALONE],
    hubArgs: ['--backup-image', RECOVERY],
    job: { seconds: 1 },
    inMemory: true,
    simulated: { work: { seconds: 0.5, jitter: 0, status: { ClusterVersion: ETCD } } },
  }),
);

const asking = (world: RolloutWorld) => ({ client: world.client, hubNamespace: 'flotilla', now: () => world.clock.now() });
const ask = ({ world, name, spokes }: Scene, about: Cause['about']): Promise<WhyAnswer> =>
  answerWhyOf(asking(world), upgradeRef(name), about === 'upgrade' ? undefined : spokes[about === 'second' ? 1 : 0]);
const told = ({ cause, isCertain, chain, release }: WhyAnswer): string =>
  JSON.stringify({ cause, isCertain, chain: chain.map(({ says }) => says), release: release.says });
const isIt = (answer: WhyAnswer, { cause, says }: Cause['want']): boolean =>
  answer.cause === cause && answer.chain.some((link) => says.test(link.says));

/** Longest that each step of a cause may take, on a busy machine. */
const PATIENCE_MS = 120_000;
/** Causes at a time. */
const AT_ONCE = 12;

/** What went wrong with a case, and whether a wrong cause was said with certainty. */
interface Outcome {
  readonly name: string;
  readonly isRight: boolean;
  readonly problem?: string;
}

// Each step has a limit of its own; all of them took over five minutes on a machine that others kept busy.
const CAUSES_MS = 900_000;

test('the first of one or two injected causes is named, the status says the same, and what is said to release it does', {
  timeout: CAUSES_MS,
}, async ({ world }) => {
  const outcomes: Outcome[] = [];
  await mapConcurrently([...CAUSES.entries()], AT_ONCE, async ([index, cause]) => {
    outcomes.push(await tryCause(cause, { ...namesOf(index), world }));
  });
  const named = outcomes.filter(({ isRight }) => isRight).length;
  const doubled = CAUSES.filter((cause) => cause.doubled).length;
  process.stdout.write(`why: ${named} of ${CAUSES.length} causes named, ${doubled} of them doubled\n`);
  expect(outcomes.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]))).toEqual([]);
  expect([CAUSES.length >= 60, doubled >= 15]).toEqual([true, true]);
});

test('what is told after a while is the cause then', async ({ world }) => {
  const scene: Scene = { world, name: 'late', spokes: LATE };
  world.spokes.disconnect(LATE[0]);
  world.spokes.setFaults(LATE[1], { jobNeverStarts: true });
  await byPrecaching(scene);
  const waiting = async () => (await world.get('late'))?.status?.precaching?.messages?.[LATE[1]]?.includes('no running pod yet') === true;
  await eventually(waiting, 'the job to have no pod', 60_000);
  world.clock.skip(31_000);
  const silent = { cause: 'agent-silent', says: /no word from the agent of late-1 for 30 s/, certain: false } as const;
  await expectNamed(scene, { name: '', inject: noInjection, want: silent, release: { says: /the pods of the agent/ } });
  const missing = { cause: 'precache-problem', says: /no pod for 30 s/ } as const;
  await expectNamed(scene, {
    name: '',
    inject: noInjection,
    about: 'second',
    want: missing,
    release: { says: /get pods,events on the cluster/ },
  });
  await expectSame(scene);
  world.spokes.reconnect(LATE[0]);
  const cached = async () => (await world.get('late'))?.status?.precaching?.status?.[LATE[0]] === 'Succeeded';
  await eventually(cached, 'late-1 to be cached', 60_000);
});

const noInjection = () => Promise.resolve();

test('without a hub that leads nothing is certain; with one again it goes on', async ({ world }) => {
  const scene: Scene = { world, name: 'alone', spokes: ALONE };
  await inBatch(scene);
  await world.hub?.stop();
  const silent = { cause: 'hub-silent', says: /no hub/, certain: false } as const;
  await expectNamed(scene, { name: '', inject: noInjection, want: silent, release: { says: /Start the hub/ } });
  await world.client.delete(Lease, { namespace: 'flotilla', name: 'flotilla-hub' });
  const later = { ...asking(world), now: () => world.clock.now() + 120_000 };
  const answer = await answerWhyOf(later, upgradeRef('alone'), ALONE[1]);
  expect([answer.cause, answer.isCertain]).toEqual(['hub-silent', false]);
  await world.startHub();
  const policy = { cause: 'policy', says: /NonCompliant/ } as const;
  await expectNamed(scene, { name: '', inject: noInjection, want: policy, release: { says: /compliant/ } });
  comply(scene);
  await world.untilCompleted('alone');
});

async function tryCause(cause: Cause, scene: Scene): Promise<Outcome> {
  let isRight = false;
  try {
    await cause.inject(scene);
    await expectNamed(scene, cause);
    isRight = true;
    await expectSame(scene);
    await cause.release.apply?.(scene);
    await expectGoesOn(scene, cause);
    return { name: cause.name, isRight };
  } catch (error) {
    return { name: cause.name, isRight, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function expectNamed(scene: Scene, { about, want, release }: Cause): Promise<void> {
  let last: WhyAnswer | undefined;
  const named = async () => {
    last = await ask(scene, about);
    return isIt(last, want) && last.isCertain === (want.certain ?? true) && release.says.test(last.release.says);
  };
  await eventually(named, () => `wanted ${want.cause} ${want.says} ${release.says}, was told ${last && told(last)}`, PATIENCE_MS);
}

/** The status says what `why` folds. */
async function expectSame({ world, name }: Scene): Promise<void> {
  let [stored, asked]: unknown[] = [];
  const same = async () => {
    const upgrade = await world.get(name);
    const { waits } = await answerWhyAllOf(asking(world), upgradeRef(name));
    stored = (upgrade?.status?.waits ?? []).map(({ cause, for: says, clusters, names: [example] }) => ({ cause, says, clusters, example }));
    asked = waits.map(({ cause, says, clusters, example }) => ({ cause, says, clusters, example }));
    const { waits: inStatus } = await answerStatusOf(asking(world), upgradeRef(name));
    return JSON.stringify(stored) === JSON.stringify(asked) && JSON.stringify(inStatus) === JSON.stringify(waits);
  };
  await eventually(same, () => `${name}: status.waits ${JSON.stringify(stored)}, why ${JSON.stringify(asked)}`, PATIENCE_MS);
}

async function expectGoesOn(scene: Scene, { after, want, about }: Cause): Promise<void> {
  const { world, name, spokes } = scene;
  if (typeof after === 'function') await after(scene);
  else if (after === 'cached') {
    const cached = async () => {
      const states = (await world.get(name))?.status?.precaching?.status;
      return spokes.every((spoke) => states?.[spoke] === 'Succeeded');
    };
    await eventually(cached, `${spokes.join()} to be cached`, PATIENCE_MS);
  } else if (after === 'another cause') {
    let last: WhyAnswer | undefined;
    const moved = async () => {
      last = await ask(scene, about);
      return !isIt(last, want);
    };
    await eventually(moved, () => `it should go on, is still ${last && told(last)}`, PATIENCE_MS);
  } else
    await eventually(
      async () => (await world.get(name))?.status?.status.completedAt !== undefined,
      () => `${name} to end`,
      PATIENCE_MS,
    );
}
