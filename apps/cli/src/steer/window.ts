import { FlotillaError, refKey } from '@flotilla/api';
import { hasEnded, type WindowAnswer, type WindowParts, windowFields } from '@flotilla/api/answers';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describeWindow, explainWindow, WINDOW_KEYS } from '@flotilla/rollout';
import { type Client, checkOptions } from '@flotilla/runtime';
import { connect } from '../hub/connect.ts';
import { readUpgrade, type UpgradeRef } from '../hub/upgrades.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { standardScreen, writeJson, writeOut } from '../terminal/output.ts';
import { look, openClusters, type PlannedChange, present, steer, type Undo, WINDOW_PARTS } from './change.ts';
import { SetOptions, ShowOptions, SteerOptions } from './options.ts';
import { windowText } from './print.ts';

/** `flotilla window show CGU`. */
export const showWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(ShowOptions, given);
  await using connected = connect(options);
  const upgrade = await readUpgrade(connected.client, connected.refOf(name));
  const all = Object.entries(upgrade.metadata.annotations ?? {});
  const answer: WindowAnswer = {
    upgrade: refKey(upgrade.metadata),
    window: describeWindow(upgrade, Date.now()),
    annotations: Object.fromEntries(all.filter(([key]) => WINDOW_PARTS.some((of) => WINDOW_KEYS[of] === key))),
  };
  if (options.output === 'json') writeJson(answer);
  else writeOut(`${windowText(answer, standardScreen().width)}\n`);
  if (answer.window.state === 'invalid') endWith(Exit.no);
};

/** `flotilla window set CGU`. */
export const setWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(SetOptions, given);
  await change(name, options, pick(options));
};

/** `flotilla window clear CGU`. */
export const clearWindow: Run = async ([name = ''], given) => {
  const options = checkOptions(SteerOptions, given);
  await change(name, options, undefined);
};

async function change(name: string, options: SteerOptions, window: WindowParts | undefined): Promise<void> {
  // Asked before the server is: by the rule that the hub goes by.
  const says = explainWindow(windowed(annotationsOf(window, optionOf)), optionOf);
  if (says !== undefined) throw new FlotillaError('FLOTILLA_CONFIG', says);
  const { hubNamespace } = options;
  await steer(options, ({ client, refOf }) => planWindow(client, refOf(name), { hubNamespace, window, nameOf: optionOf }));
}

/** A window to set, and where the hub's Lease is. */
interface WindowWish {
  readonly hubNamespace: string;
  /** Undefined takes the window away. */
  readonly window: WindowParts | undefined;
  /** Names the part of an annotation as the asker gave it. */
  readonly nameOf: NameOf;
}

type NameOf = (key: string) => string;

/**
 * The change that sets or clears a window, or why there is none to make.
 * @throws FlotillaError `FLOTILLA_CONFIG` for a window that the hub could not read
 */
export async function planWindow(
  client: Client,
  ref: UpgradeRef,
  { hubNamespace, window, nameOf }: WindowWish,
): Promise<PlannedChange<ClusterGroupUpgrade>> {
  const annotations = annotationsOf(window, nameOf);
  const problem = explainWindow(windowed(annotations), nameOf);
  if (problem !== undefined) throw new FlotillaError('FLOTILLA_CONFIG', problem);
  const state = describeWindow(windowed(annotations), Date.now());
  const { upgrade, status } = await look(client, ref, hubNamespace);
  if (hasEnded(status)) return { refused: `${refKey(ref)} has ended (${status.stage}): no batch of it starts any more` };
  return {
    kind: ClusterGroupUpgrade,
    object: upgrade,
    annotations,
    clusters: openClusters(status),
    says: [windowText({ upgrade: 'batches', window: state, annotations: {} }).replace('\n  ', '; '), 'what runs goes on'],
    undo: undoOf(upgrade),
    windows: { before: describeWindow(upgrade, Date.now()), after: state },
  };
}

const pick = (from: WindowParts): WindowParts => Object.fromEntries(WINDOW_PARTS.map((of) => [of, from[of]]));

const partOf = (key: string): keyof WindowParts | undefined => WINDOW_PARTS.find((of) => WINDOW_KEYS[of] === key);
const optionOf: NameOf = (key) => `--${partOf(key) ?? key}`;

/** Names an annotation by its field in the form of the console. */
export const windowFieldOf: NameOf = (key) => {
  const part = partOf(key);
  return JSON.stringify(part ? windowFields[part] : key);
};

/** An upgrade with these annotations alone. */
const windowed = (annotations: Readonly<Record<string, string | undefined>>) => ({
  metadata: { name: '', annotations: present(annotations) },
});

/** Annotations of a window. */
function annotationsOf(window: WindowParts | undefined, nameOf: NameOf): Record<string, string | undefined> {
  if (window && WINDOW_PARTS.every((of) => window[of] === undefined)) {
    const [start, end, schedule, duration] = WINDOW_PARTS.map((of) => nameOf(WINDOW_KEYS[of]));
    throw new FlotillaError('FLOTILLA_CONFIG', `give ${start}, ${end}, or ${schedule} with ${duration}; to take a window away, clear it`);
  }
  return Object.fromEntries(WINDOW_PARTS.map((of) => [WINDOW_KEYS[of], window?.[of]]));
}

/** The parts of the window that an upgrade has. */
export const windowOf = ({ metadata: { annotations = {} } }: ClusterGroupUpgrade): WindowParts =>
  present(Object.fromEntries(WINDOW_PARTS.map((of) => [of, annotations[WINDOW_KEYS[of]]])));

/** The action that brings back the window there was. */
function undoOf(upgrade: ClusterGroupUpgrade): Undo {
  const window = windowOf(upgrade);
  return Object.keys(window).length > 0 ? { action: 'window-set', window } : { action: 'window-clear' };
}
