import { saidText } from '../errors.ts';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { conditionOf, numberAt } from './rollout.ts';

/** Characters that a message repeats of what a pod says. */
const MOST_SAID = 300;
/** Reasons of containers that are on their way. */
const ON_THEIR_WAY: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

/** Why a pod of a workload does not get on, in its own words; undefined when no pod says so. The gravest comes first. */
export function podTrouble(pods: readonly Json[]): string | undefined {
  const found = pods.flatMap((pod) => troublesOf(pod).map((trouble) => ({ pod, ...trouble })));
  const [first] = found.sort((a, b) => a.rank - b.rank);
  if (!first) return undefined;
  return `pod ${textAt(objectAt(first.pod.metadata).name)}: ${saidText(first.said, MOST_SAID)}`;
}

/** Troubles that one pod reports, with their ranks: the lower, the graver. */
function troublesOf({ metadata, spec, status }: Json): { readonly rank: number; readonly said: string }[] {
  const at = objectAt(status);
  const [scheduled, disrupted] = [conditionOf(at, 'PodScheduled'), conditionOf(at, 'DisruptionTarget')];
  const node = textAt(objectAt(spec).nodeName);
  const containers = [...objectsAt(at.initContainerStatuses), ...objectsAt(at.containerStatuses)];
  return [
    ...containers.flatMap((one) => containerTrouble(one)).map((said) => ({ rank: 0, said })),
    ...(scheduled?.status === 'False' ? [{ rank: 1, said: joined(scheduled.reason, scheduled.message) }] : []),
    ...(at.phase === 'Failed' ? [{ rank: 2, said: joined('Failed', at.reason, at.message) }] : []),
    ...(disrupted?.status === 'True' ? [{ rank: 3, said: joined(disrupted.reason, disrupted.message) }] : []),
    ...(objectAt(metadata).deletionTimestamp ? [{ rank: 4, said: joined(`is being deleted${node && ` on node ${node}`}`) }] : []),
    ...containers.filter(isNotReady).map(({ name }) => ({ rank: 5, said: `container ${textAt(name)} runs and is not ready` })),
  ];
}

const joined = (...parts: readonly unknown[]): string =>
  parts
    .map(textAt)
    .filter((part) => part !== '')
    .join(': ');

function containerTrouble({ name, state, lastState, restartCount }: Json): string[] {
  const waiting = objectAt(objectAt(state).waiting);
  if (ON_THEIR_WAY.has(textAt(waiting.reason))) return [];
  const ended = objectAt(objectAt(lastState).terminated);
  const code = typeof ended.exitCode === 'number' ? `exit code ${ended.exitCode}` : '';
  const before = joined(ended.reason, code, ended.message);
  const restarts = numberAt(restartCount) > 0 ? ` after ${numberAt(restartCount)} restarts` : '';
  return [
    `${joined(`container ${textAt(name)}`, waiting.reason, waiting.message)}${before === '' ? '' : ` (last ended${restarts}: ${before})`}`,
  ];
}

const isNotReady = ({ ready, state }: Json): boolean => ready === false && objectAt(state).running !== undefined;
