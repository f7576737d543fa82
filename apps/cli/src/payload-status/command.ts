import { FlotillaError } from '@flotilla/api';
import type { PayloadStatusAnswer } from '@flotilla/api/answers';
import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { age, duration, figure } from '@flotilla/api/units';
import { type Client, checkOptions, isForbidden } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { connect, listServed } from '../hub/connect.ts';
import { AnswerOptions, wantsJson } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { type Screen, safeText, standardScreen, tinted, writeJson } from '../terminal/output.ts';
import { cut, table } from '../terminal/table.ts';
import { judgePayload, type ReadPayload } from './judge.ts';

/** `flotilla payload status`: how far a cluster has applied a release. */
export const showPayloadStatus: Run = async (_, given) => {
  const options = checkOptions(AnswerOptions, given);
  await using connected = connect(options);
  const answer = judgePayload(await readPayload(connected.client));
  const screen = standardScreen();
  if (wantsJson(options)) writeJson(answer);
  else screen.write(`${payloadStatusText(answer, screen, Date.now())}\n`);
  if (answer.stage === 'unseen') endWith(Exit.unknown);
  if (answer.stage === 'failing' || answer.stage === 'refused') endWith(Exit.no);
};

async function readPayload(client: Client): Promise<ReadPayload> {
  const { server } = client;
  const version = await client.get(ClusterVersion, { name: CLUSTER_VERSION_NAME });
  if (!version)
    throw new FlotillaError(
      'FLOTILLA_NO_UPGRADE',
      `there is no ClusterVersion ${CLUSTER_VERSION_NAME} on ${server}; name an OpenShift cluster with --kubeconfig, or install the version operator (chart value versionOperator.enabled)`,
    );
  const notes: string[] = [];
  const operators = await listServed(client, ClusterOperator).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    notes.push(`operators could not be looked at: ${nextStep(error)}`);
    return [];
  });
  return { server, version, operators: operators ?? [], notes, now: Date.now() };
}

const colors = { applied: 'good', applying: 'late', failing: 'bad', refused: 'bad', unseen: 'bad' } as const;

/** The answer for a person. @param now milliseconds since the epoch */
export function payloadStatusText(answer: PayloadStatusAnswer, screen: Pick<Screen, 'hasColor' | 'width'>, now: number): string {
  const { stage, version, from, startedAt, completedAt, level, says, since, waits, secondsLeft, notes } = answer;
  const route = [from, version].filter((each) => each !== undefined).join(' -> ');
  const at = stage === 'applied' ? completedAt : (since ?? startedAt);
  const head = cut(
    safeText(`${route === '' ? 'no release' : route}: ${stage}${at === undefined ? '' : `, since ${age(at, now)}`}`),
    screen.width,
  );
  const percent = level && level.total > 0 ? ` (${Math.floor((100 * level.done) / level.total)} %)` : '';
  const ends =
    stage === 'applying' || stage === 'failing'
      ? `ends in ${figure(secondsLeft, duration)}${secondsLeft.why ? `: ${secondsLeft.why}` : ''}`
      : undefined;
  const lines = [says, level && `${level.done} of ${level.total} manifests${percent}`, ends, ...notes].flatMap((line) =>
    line ? [line] : [],
  );
  const rows = waits.map((wait) => [wait.operator, age(wait.since, now), wait.says]);
  return [
    tinted(screen, colors[stage], head),
    ...lines.map((line) => cut(`  ${safeText(line)}`, screen.width)),
    ...(rows.length > 0 ? ['', table(['WAITING FOR', 'SINCE', 'WHAT'], rows, { width: screen.width, indent: '  ' })] : []),
  ].join('\n');
}
