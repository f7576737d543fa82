import { FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { type Client, checkOptions, isForbidden } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { Exit, endWith } from '../exit.ts';
import { connect } from '../hub/connect.ts';
import { listServed } from '../hub/list-served.ts';
import { AnswerOptions, wantsJson } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { writeJson } from '../terminal/output.ts';
import { standardScreen } from '../terminal/screen.ts';
import { judgePayload, type ReadPayload } from './judge.ts';
import { payloadStatusText } from './print.ts';

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
