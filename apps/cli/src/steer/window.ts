import { Annotation, FlotillaError, refKey } from '@flotilla/api';
import type { WindowAnswer } from '@flotilla/api/answers';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describeWindow } from '@flotilla/rollout';
import { checkOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { Exit, endWith } from '../exit.ts';
import { connect } from '../hub/connect.ts';
import { HubOptions } from '../hub/options.ts';
import { readUpgrade } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { safeJson } from '../terminal/safe-text.ts';
import { carryOut, SteerOptions } from './change.ts';
import { openClusters } from './effects.ts';
import { hasEnded, look, refuse } from './pause.ts';
import { windowText } from './print.ts';

const KEYS = {
  start: Annotation.windowStart,
  end: Annotation.windowEnd,
  schedule: Annotation.windowSchedule,
  duration: Annotation.windowDuration,
  timezone: Annotation.windowTimezone,
} as const;
type Part = keyof typeof KEYS;
const parts: readonly Part[] = ['start', 'end', 'schedule', 'duration', 'timezone'];

const part = z.string().min(1, { error: 'is empty: leave it out to have none' }).optional();
const SetOptions = SteerOptions.extend({ start: part, end: part, schedule: part, duration: part, timezone: part });

/** `flotilla window show CGU`. */
export const showWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(HubOptions, given);
  await using connected = connect(options);
  const upgrade = await readUpgrade(connected.client, { namespace: options.namespace ?? connected.namespace, name });
  const all = Object.entries(upgrade.metadata.annotations ?? {});
  const answer: WindowAnswer = {
    upgrade: refKey(upgrade.metadata),
    window: describeWindow(upgrade, Date.now()),
    annotations: Object.fromEntries(all.filter(([key]) => parts.some((of) => KEYS[of] === key))),
  };
  process.stdout.write(options.output === 'json' ? `${safeJson(answer)}\n` : `${windowText(answer)}\n`);
  if (answer.window.state === 'invalid') endWith(Exit.no);
};

/** `flotilla window set CGU`. */
export const setWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(SetOptions, given);
  if (parts.every((of) => options[of] === undefined))
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      'give --start, --end, or --schedule with --duration; flotilla window clear takes a window away',
    );
  await change(name, options, Object.fromEntries(parts.map((of) => [KEYS[of], options[of]])));
};

/** `flotilla window clear CGU`. */
export const clearWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(SteerOptions, given);
  await change(name, options, Object.fromEntries(parts.map((of) => [KEYS[of], undefined])));
};

async function change(
  name: string,
  options: z.output<typeof SteerOptions>,
  annotations: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  // Asked before the server is: by the rule that the hub goes by.
  const window = describeWindow({ metadata: { name, annotations: present(annotations) } }, Date.now());
  if (window.state === 'invalid') throw new FlotillaError('FLOTILLA_CONFIG', window.says ?? 'the window cannot be read');
  await using connected = connect(options);
  const { client } = connected;
  const ref = { namespace: options.namespace ?? connected.namespace, name };
  const { upgrade, status } = await look(client, ref, options.hubNamespace);
  if (hasEnded(status)) return refuse(`${refKey(ref)} has ended (${status.stage}): no batch of it starts any more`);
  await carryOut(
    client,
    {
      kind: ClusterGroupUpgrade,
      object: upgrade,
      annotations,
      clusters: openClusters(status),
      says: [windowText({ upgrade: 'batches', window, annotations: {} }).replace('\n', ';'), 'what runs goes on'],
      undo: undoOf(upgrade, ref.namespace),
    },
    options,
  );
}

const present = (annotations: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** The command that brings back the window there was. */
function undoOf({ metadata: { name, annotations = {} } }: ClusterGroupUpgrade, namespace: string): string {
  const had = parts.filter((of) => annotations[KEYS[of]] !== undefined);
  if (had.length === 0) return `flotilla window clear ${name} -n ${namespace}`;
  const flags = had.map((of) => `--${of} '${annotations[KEYS[of]]}'`);
  return `flotilla window set ${name} -n ${namespace} ${flags.join(' ')}`;
}
