/** Two causes at once: `why` names the first, what it advises ends it, then it names the other. */
import type { WhyAnswer } from '@flotilla/api/answers';
import { createRandom } from '@flotilla/control-plane/simulators';
import { atStart } from './at-start.ts';
import type { Cause } from './cause.ts';
import { inBatch, inWorks } from './in-batch.ts';
import { Scene, SECOND_TEMPLATE, TEMPLATE, UPGRADE } from './scene.ts';

const MINUTE = 60_000;
/** Longest that each step may take. */
const PATIENCE_MS = 8 * MINUTE;
/** A hub that leads has renewed its lease since, by the pace of a simulation. */
const RENEWED_MS = 150_000;
/** After that others have seen what was made. */
const SETTLED_MS = 5_000;
/** Difference that writing takes. */
const SLACK_MS = 15_000;

/** One that is put on a cluster, or on the first where that does not matter. */
interface Put {
  readonly cause: Cause;
  readonly cluster: number;
  readonly place: number;
}

const TABLES = { 'at the start': atStart, 'in a batch': inBatch, 'in a batch of works': inWorks } as const;
type Moment = keyof typeof TABLES;

/** One or two causes of a table. */
interface Case {
  readonly seed: number;
  readonly moment: Moment;
  readonly puts: readonly Put[];
}

/** Every cause alone, and so many pairs by lot. */
export function casesOf(seed: number, pairs: number): Case[] {
  const random = createRandom(seed, 'why');
  const all = Object.entries(TABLES).map(([moment, table]) => {
    const make = (causes: readonly Cause[], clusters: readonly number[]) => caseOf({ seed, moment: moment as Moment }, causes, clusters);
    const alone = table.map((cause) => make([cause], [1]));
    const doubled = table.flatMap((one, at) =>
      table
        .slice(at)
        .flatMap((other) => [1, 2].filter((cluster) => canMeet(one, other, cluster)).map((cluster) => make([one, other], [1, cluster]))),
    );
    return { alone, doubled };
  });
  const drawn = all.flatMap(({ doubled }) => doubled.map((each) => ({ each, lot: random() }))).toSorted((a, b) => a.lot - b.lot);
  return [...all.flatMap(({ alone }) => alone), ...drawn.slice(0, pairs).map(({ each }) => each)];
}

/** One that is of no cluster is put on the first. */
function canMeet(one: Cause, other: Cause, cluster: number): boolean {
  const areApart = !one.slots.some((slot) => other.slots.includes(slot));
  if (cluster === 1) return areApart;
  return other.isOfCluster === true && (areApart || one.isOfCluster === true);
}

/** Causes of clusters of which nothing is known. */
const SILENT: ReadonlySet<string> = new Set(['cluster-unavailable', 'agent-silent']);

function caseOf(of: Pick<Case, 'seed' | 'moment'>, causes: readonly Cause[], clusters: readonly number[]): Case {
  const precaches = causes.some(({ spec }) => spec?.preCaching === true);
  const isApart = clusters[1] === 2;
  const puts = causes.map((cause, index): Put => {
    const isOtherSilent = isApart && causes.some((other) => other !== cause && SILENT.has(other.want.cause));
    const { place } = cause;
    return { cause, cluster: clusters[index] ?? 1, place: typeof place === 'number' ? place : place({ precaches, isOtherSilent }) };
  });
  return { ...of, puts: puts.toSorted((a, b) => a.place - b.place) };
}

/** Says a case in a line. */
export const nameOf = ({ moment, puts }: Case): string =>
  `${moment}: ${puts.map(({ cause, cluster }) => (cause.isOfCluster ? `${cause.name} (spoke-${cluster})` : cause.name)).join(' + ')}`;

/** Plays a case; undefined: all was said and worked as it should. */
export async function playCase(one: Case): Promise<string | undefined> {
  using scene = new Scene(one.seed);
  try {
    const begun = await begin(scene, one);
    let left = [...one.puts];
    while (left.length > 0) {
      const least = Math.min(...left.map(({ place }) => place));
      const named = await expectNamed(
        scene,
        left.filter(({ place }) => place === least),
        begun,
      );
      await named.cause.follow(scene, named.cluster);
      left = left.filter((each) => each !== named);
    }
    await scene.stick(false);
    if (await scene.until(() => scene.hasCompleted, 30 * MINUTE)) return undefined;
    return `it has not completed: ${told(await scene.ask())}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The time at which the causes are there. */
async function begin(scene: Scene, { moment, puts }: Case): Promise<number> {
  await scene.world.start();
  const causes = puts.map(({ cause }) => cause);
  if (!causes.some(({ isWithoutPolicy }) => isWithoutPolicy)) await scene.placePolicy();
  const rolledOut = moment === 'in a batch of works' ? { managedPolicies: [], manifestWorkTemplates: [TEMPLATE] } : {};
  // Where two ask for the same field, the first of them needs it as it says.
  const spec = Object.assign({}, rolledOut, ...causes.toReversed().map((cause) => cause.spec));
  const annotations = Object.assign({}, ...causes.map((cause) => cause.annotations));
  for (const template of [TEMPLATE, SECOND_TEMPLATE]) await scene.placeTemplate(template);
  await scene.pass(SETTLED_MS);
  const isInBatch = moment !== 'at the start';
  if (isInBatch) {
    await scene.stick(true);
    await scene.create(UPGRADE, spec, annotations);
    if (!(await scene.until(() => scene.isInProgress, PATIENCE_MS))) throw new Error(`no batch has begun: ${told(await scene.ask())}`);
  }
  const { now } = scene;
  for (const { cause, cluster } of puts) await cause.begin?.(scene, cluster);
  if (!isInBatch) {
    await scene.pass(SETTLED_MS);
    await scene.create(UPGRADE, spec, annotations);
  }
  return now;
}

async function expectNamed(scene: Scene, puts: readonly Put[], begun: number): Promise<Put> {
  let [said, last, named]: [WhyAnswer | undefined, string, Put | undefined] = [undefined, '', undefined];
  await scene.until(async () => {
    const answer = await scene.ask();
    said = answer;
    const verdicts = puts.map((put) => [put, problemOf(answer, put, scene.now, begun)] as const);
    named = verdicts.find(([, problem]) => problem === undefined)?.[0];
    last = verdicts.map(([, problem]) => problem ?? '').join('; ');
    return named !== undefined;
  }, PATIENCE_MS);
  if (named) return named;
  throw new Error(`${puts.map(({ cause }) => cause.name).join(' or ')} is not named: ${last}: ${said && told(said)}`);
}

/** Difference between an answer and what it has to be. */
function problemOf({ cause, chain, release }: WhyAnswer, { cause: wanted, cluster }: Put, now: number, begun: number): string | undefined {
  const { want, advice, dated, isOfCluster } = wanted;
  if (cause !== want.cause) return `wanted ${want.cause}`;
  const link = chain.find(({ says }) => want.says.test(says));
  if (!link) return `wanted ${want.says}`;
  if (!advice.test(release.says)) return `wanted advice ${advice}`;
  if (isOfCluster && !chain.some(({ says, object }) => `${says} ${object}`.includes(`spoke-${cluster}`))) return `wanted spoke-${cluster}`;
  const seen = Date.parse(link.observedAt ?? '');
  const [from, to] = dated ? [begun - dated[1] * 1000, begun - dated[0] * 1000] : [now - RENEWED_MS, now];
  if (!(seen >= from - SLACK_MS && seen <= to + SLACK_MS)) return `wanted another age than that of ${link.observedAt}`;
  return undefined;
}

const told = ({ cause, isCertain, chain, release }: WhyAnswer): string =>
  JSON.stringify({ cause, isCertain, chain: chain.map(({ says, observedAt }) => `${says} (${observedAt})`), release: release.says });
