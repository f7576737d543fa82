import { Annotation, FlotillaError } from '@flotilla/api';
import type { PlanAnswer } from '@flotilla/api/answers';
import { answerPlan } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { standardScreen, writeErr, writeJson } from '../terminal/output.ts';
import { estimatePulls } from './estimate.ts';
import { PlanOptions } from './options.ts';
import { planPage } from './print.ts';
import { type Observed, observe, planHere, readGiven, readGivenFile, specOf } from './read.ts';

/** `flotilla plan CGU|-f FILE`. */
export const showPlan: Run = async ([name], given) => {
  const options = checkOptions(PlanOptions, given);
  if (options.inspect && !options.images) throw new FlotillaError('FLOTILLA_CONFIG', '--inspect asks about images: leave --no-images out');
  if ((name === undefined) === (options.file === undefined))
    throw new FlotillaError('FLOTILLA_CONFIG', 'give the name of a ClusterGroupUpgrade, or a file with -f; one of them');
  await using connected = connect(options);
  const { client, namespace, refOf } = connected;
  const objects = options.file === undefined ? await readGiven(client, refOf(name ?? '')) : await readGivenFile(options.file, namespace);
  const observed = await observe(client, objects);
  const answer = await makeAnswer(client, observed, options);
  const screen = standardScreen(options.output === 'wide');
  if (options.output === 'json') writeJson(answer);
  else screen.write(`${planPage(answer, screen)}\n`);
  if (options.save) save(answer);
  const hasNoRoom = answer.pulls.some(({ fits }) => fits === false);
  if (answer.refused !== undefined || answer.rollout.fits === false || hasNoRoom) endWith(Exit.no);
  else if (options.images && answer.bytes.certainty === 'unknown') endWith(Exit.unknown);
};

/** The answer on an upgrade as it was observed. */
export async function makeAnswer(client: Client, observed: Observed, options: PlanOptions): Promise<PlanAnswer> {
  const spec = specOf(observed.upgrade);
  const plan = planHere(observed, spec);
  const notes = [
    'settings of the hub are not known here: its allowed images, tenancy and update graph are taken as given',
    ...observed.unseen,
  ];
  const { images, pulls } = await estimatePulls(client, { observed, spec, plan }, options, notes);
  const { batchMinutes } = options;
  return answerPlan({
    observed,
    spec,
    plan,
    images,
    pulls,
    secondsPerBatch: batchMinutes === undefined ? undefined : batchMinutes * 60,
    now: Date.now(),
    notes,
  });
}

/** Says how to bind the upgrade to the plan, beside standard output, which is for the answer. */
function save({ upgrade, digest }: PlanAnswer): void {
  const [namespace, name] = upgrade.split('/');
  if (digest === undefined) writeErr('flotilla: there is no whole plan to save; see what is refused\n');
  else writeErr(`to let it start by this plan alone: kubectl -n ${namespace} annotate cgu ${name} ${Annotation.plan}=${digest}\n`);
}
