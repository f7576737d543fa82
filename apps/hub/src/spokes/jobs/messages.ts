/** Sentences about a spoke whose job was stopped, failed to be written, or does not go on: a silent agent, a missing pod, images at risk. Pure. */

import type { JobStatus } from '@flotilla/api/core';
import { cutInMiddle, explain } from '@flotilla/api/ran';
import { readWait, TROUBLE_PREFIX, waitBy, waitMessage } from '@flotilla/rollout';
import type { SpokeObservation } from '../transports/port/port.ts';
import type { JobState, SpokeJob } from './kind.ts';

/** Says why a spoke whose job was stopped does not begin again yet. @param paused message of the pause; undefined once it has ended */
export function describeStop(paused: string | undefined, available: boolean): string {
  const why = readWait(paused ?? '') ?? { cause: 'precache-prepare', says: 'begins again when its stopped job is removed' };
  const state = available ? 'being stopped' : 'cannot be stopped while the cluster is not available';
  return waitMessage({ ...why, says: `${why.says} (${state})` });
}

/** Keeps the server's message without the request's path: messages in a status are short, and the path helps no reader. */
export const troubleOf = (message: string): string =>
  TROUBLE_PREFIX + cutInMiddle(message.replace(/^[A-Z]{3,6} \/[^ ]{1,600}: (\d{3}: )?/, ''), 1024);

/** Milliseconds without an answer before an agent counts as silent: it polls every few seconds. */
const SILENT_MS = 30_000;

/**
 * Returns no message while the agent may still answer. The reported time doubles with each message, so that a thousand silent agents do not rewrite a
 * status every second.
 */
export function describeSilence(
  { since, job, namespace, isAnswered, note }: Pick<SpokeObservation, 'since' | 'job' | 'namespace' | 'isAnswered' | 'note'>,
  { cluster, now }: { readonly cluster: string; readonly now: number },
): { message?: string; at?: number } {
  const waiting = job ?? namespace;
  const from = waiting?.answer.kind === 'pending' ? waiting.since : waiting ? undefined : since;
  const remark = note === undefined ? {} : { message: note };
  if (from === undefined || isAnswered) return remark;
  if (now - from < SILENT_MS) return { ...remark, at: from + SILENT_MS };
  const silentMs = SILENT_MS * 2 ** Math.floor(Math.log2((now - from) / SILENT_MS));
  const problem = `no word from the agent of ${cluster} for ${silentMs / 1000} s${note === undefined ? '' : ` (${note})`}`;
  const wait = { ...waitBy('agent-silent', 'AgentSilent', problem, { cluster }), since: from };
  return { message: waitMessage(wait), at: from + silentMs * 2 };
}

/** Milliseconds without a pod before a message. The job controller tries again after 10, 20, 40 s. */
const NO_POD_MS = 30_000;
/** Milliseconds before a message about a pod that does not run: an image may take a minute. */
const NOT_RUNNING_MS = 120_000;

/**
 * Describes a late pod with its likely causes, and with the command that shows the real one. A view needs an object's name, and names of pods and
 * events are unknown. The Job tells whether it has a running pod, but no cause.
 * @param since start of the hub's watch of the job, milliseconds since the epoch
 */
export function describeDelay(
  since: number,
  { active = 0, ready }: Pick<JobStatus, 'active' | 'ready'>,
  { now, job: { names, words } }: { readonly now: number; readonly job: Pick<SpokeJob<JobState, never>, 'names' | 'words'> },
): { message?: string; at?: number } {
  // A server that does not report `ready` tells nothing about this pod.
  if (active > 0 && ready !== 0) return {};
  const patienceMs = active > 0 ? NOT_RUNNING_MS : NO_POD_MS;
  if (now - since < patienceMs) return { at: since + patienceMs };
  const say = (reason: 'PodNotRunning' | 'PodMissing', problem: string) =>
    waitMessage(waitBy('precache-problem', reason, problem, { namespace: names.namespace }));
  return {
    message:
      active > 0
        ? say(
            'PodNotRunning',
            `the pod of job ${names.job} has not been running for ${NOT_RUNNING_MS / 60_000} min: no room on the node (Pending), an image that cannot be pulled (ImagePullBackOff), or a host path that the node does not have (ContainerCreating)`,
          )
        : say(
            'PodMissing',
            `job ${names.job} has had no pod for ${NO_POD_MS / 1000} s: the cluster refuses to create it (FailedCreate), by a quota or an admission policy${words.refusal ? `, or ${words.refusal}` : ''}`,
          ),
  };
}

/** Longest refusal that leaves room for the fix in a status, in characters. */
const MAX_REFUSAL = 112;

/** Quotes who refuses, and why: what is refused is said already, and the binding of a policy tells nobody anything. */
export function quoteRefusal(message: string): string {
  const [, refusal = message] = message.split(' is forbidden: ', 2);
  const why = refusal.replace(/ with binding '[^']*'/, '');
  return why.length <= MAX_REFUSAL ? why : `${why.slice(0, MAX_REFUSAL - 1)}…`;
}

/** Name that a puller gives for a kubelet's configuration that it could not read: no setting of the cluster. */
const UNREAD = 'kubelet configuration';

/** Name that a puller gives for pins that were asked for and are not there. */
const PINS = 'pins';

/** Says what would take the images away again, or keep the kubelet from using them, and which nodes nobody could ask. */
export function describeRisks(report: SpokeObservation['report'], { cluster }: { readonly cluster: string }): { message?: string } {
  if (!report) return {};
  const { risks = [] } = report;
  const others = risks.filter(({ name }) => name !== UNREAD && name !== PINS);
  const byNode = Map.groupBy(others, ({ node = report.node }) => (node === undefined ? 'its node' : `node ${node}`));
  const has = [...byNode].map(([node, own]) => `${node} has ${own.map(({ name, value }) => `${name} ${value}`).join(', ')}`);
  const { absent = 0, total = 0, problems = [] } = report.nodes ?? {};
  const names = problems.map(({ node }) => node).join(', ');
  const away = absent > 0 ? [`${absent} of ${total} nodes stayed away${names === '' ? '' : `: ${names}`}`] : [];
  const said = [...has, ...away];
  const unpinned = describePins(risks);
  if (said.length === 0) return unpinned.length > 0 ? { message: explain('NoPins', unpinned.join('; '), { cluster }) } : {};
  return { message: explain('CacheAtRisk', `the images are there, but ${[...said, ...unpinned].join('; ')}`, { cluster }) };
}

/** Says where images have no pins although they were asked for. A value is `none: why`, or how many there are. */
function describePins(risks: readonly { readonly name: string; readonly value: string }[]): string[] {
  const values = risks.filter(({ name }) => name === PINS).map(({ value }) => value);
  const [first] = values;
  if (first === undefined) return [];
  const where = values.length > 1 ? `; ${values.length} nodes` : '';
  return [
    first.startsWith('none')
      ? `no pins: headroom alone (${first}${where})`
      : `too few pins: headroom alone for the rest (${first}${where})`,
  ];
}
