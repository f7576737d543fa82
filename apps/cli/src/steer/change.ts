import { createHash } from 'node:crypto';
import { FlotillaError, type KubeObject, type Ref, type Resource } from '@flotilla/api';
import { type ActionRequest, type ChangeAnswer, type StatusAnswer, WindowParts } from '@flotilla/api/answers';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { ApiError, type Client, isConflict } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { connect } from '../hub/connect.ts';
import { FactStore, judgeStatus } from '../hub/fact-store.ts';
import { readUpgrade, type UpgradeRef } from '../hub/upgrades.ts';
import { Exit, endWith } from '../run.ts';
import { safeText, standardScreen, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import type { ClusterOptions } from './options.ts';
import { changeText, consent } from './print.ts';

/** Annotations to write on one object, where undefined takes one away; or an object to create with them. */
export interface Change<T extends KubeObject> {
  readonly kind: Resource<T>;
  readonly object: T;
  /** The object is not there yet; default false. */
  readonly isNew?: boolean;
  readonly annotations: Readonly<Record<string, string | undefined>>;
  /** Clusters that it touches. */
  readonly clusters: number;
  /** Names of these clusters by the object as it is now; absent where its status does not choose them. */
  readonly chosen?: (object: T) => readonly string[];
  readonly says: readonly string[];
  /** Sentences in their place where it is so already; default none. */
  readonly whenSame?: readonly string[];
  /** Absent where nothing takes it back. */
  readonly undo?: Undo;
  readonly windows?: ChangeAnswer['windows'];
  /** Waits until a hub has taken it up; false when none has in time. */
  readonly untilTakenUp?: () => Promise<boolean>;
}

/** A change, or why there is none to make. */
export type PlannedChange<T extends KubeObject> = Change<T> | { readonly refused: string };

/** An upgrade, and how far it is by itself alone. */
export async function look(
  client: Client,
  ref: UpgradeRef,
  hubNamespace: string,
): Promise<{ upgrade: ClusterGroupUpgrade; status: StatusAnswer }> {
  const upgrade = await readUpgrade(client, ref);
  return { upgrade, status: await judgeStatus(new FactStore({ client, hubNamespace }), upgrade) };
}

/** A number with its noun. */
export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

/** Clusters of an upgrade that are not at their end. */
export const openClusters = ({ clusters }: Pick<StatusAnswer, 'clusters'>): number => clusters.inBatch + clusters.left;

/** Options of every command that changes something. */
type WriteOptions = ClusterOptions & { readonly namespace?: string | undefined };

/** Connects to the hub, plans a change there, and carries it out; a refusal is said, also by the exit code. */
export async function steer<T extends KubeObject>(
  options: WriteOptions,
  plan: (connected: ReturnType<typeof connect>) => Promise<PlannedChange<T>>,
): Promise<void> {
  await using connected = connect(options);
  const planned = await plan(connected);
  if (!('refused' in planned)) return await carryOut(connected.client, planned, options);
  writeErr(`flotilla: ${safeText(planned.refused)}\n`);
  endWith(Exit.no);
}

/** Says what a change touches, asks, writes it, and says how it ended, also by the exit code. */
async function carryOut<T extends KubeObject>(client: Client, change: Change<T>, options: WriteOptions): Promise<void> {
  const answer = describe(change);
  const say = (ended: ChangeAnswer): void =>
    options.output === 'json' ? writeJson(ended) : writeOut(`${changeText(ended, standardScreen().width)}\n`);
  if (answer.outcome !== 'unchanged' && !options.dryRun && !options.yes && !(await consent(answer))) {
    say({ ...answer, outcome: 'declined' });
    return endWith(Exit.no);
  }
  const ended = await makeChange(client, change, options);
  say(ended);
  if (ended.outcome === 'outdated') endWith(Exit.no);
  if (ended.outcome === 'unanswered') endWith(Exit.timeUp);
}

interface MakeOptions {
  /** The server checks it and stores nothing. */
  readonly dryRun: boolean;
  /** `seen` of the answer that is confirmed; absent: the change itself is what was looked at. */
  readonly seen?: string | undefined;
}

/** Writes a change, unless it is so already or was looked at in another state, and says how it ended. */
export async function makeChange<T extends KubeObject>(
  client: Client,
  change: Change<T>,
  { dryRun, seen }: MakeOptions,
): Promise<ChangeAnswer> {
  const answer = describe(change);
  if (seen !== undefined && seen !== answer.seen) return { ...answer, outcome: 'outdated' };
  if (answer.outcome === 'unchanged') return answer;
  const other = await write(client, change, dryRun);
  if (other) return { ...describe({ ...change, object: other }), outcome: 'outdated' };
  if (dryRun) return { ...answer, outcome: 'dry-run' };
  try {
    const isTakenUp = (await change.untilTakenUp?.()) ?? true;
    return { ...answer, outcome: !isTakenUp ? 'unanswered' : change.isNew ? 'created' : 'changed' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const says = [...answer.says, `it is stored; whether a hub has taken it up could not be seen: ${nextStep(error)}`];
    return { ...answer, outcome: 'unanswered', says };
  }
}

function describe<T extends KubeObject>({
  kind,
  object,
  isNew = false,
  annotations,
  clusters,
  chosen,
  says,
  whenSame = [],
  undo,
  windows,
}: Change<T>): ChangeAnswer {
  const { namespace, name } = object.metadata;
  const changes = Object.entries(annotations)
    .map(([key, after]) => ({ key, before: isNew ? undefined : object.metadata.annotations?.[key], after }))
    .filter(({ before, after }) => before !== after);
  const isSame = changes.length === 0 && !isNew;
  return {
    object: `${kind.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`,
    outcome: isSame ? 'unchanged' : 'changed',
    ...(isNew && { isNew }),
    annotations: changes,
    clusters: isSame ? 0 : clusters,
    says: isSame ? [...whenSame] : [...says],
    ...(!isSame && { ...(undo && describeUndo(undo, object.metadata)), windows }),
    seen: seenOf({ object, annotations, isNew, chosen }),
  };
}

/** Digest of what a change replaces, of which object, and of the clusters that its status has chosen. */
function seenOf<T extends KubeObject>({
  object,
  annotations: changes,
  isNew,
  chosen,
}: Pick<Change<T>, 'object' | 'annotations' | 'isNew' | 'chosen'>): string {
  const { uid, annotations: there = {} } = object.metadata;
  const before = isNew ? [] : Object.keys(changes).map((key) => [key, there[key] ?? null]);
  return createHash('sha256')
    .update(JSON.stringify([isNew ? null : uid, before, chosen?.(object).toSorted()]))
    .digest('base64url');
}

/** Annotations without those that are taken away. */
export const present = (annotations: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Most tries of a write where others write first. */
const MOST_TRIES = 5;

/**
 * By its uid: an object of the same name that came meanwhile is not the one that was asked about. By its version: what others write at the same moment
 * is looked at before.
 * @returns the object where somebody else has changed what the change replaces; nothing is written then
 */
async function write<T extends KubeObject>(
  client: Client,
  { kind, object, isNew, annotations, chosen }: Change<T>,
  dryRun: boolean,
): Promise<T | undefined> {
  if (isNew) {
    await client.create(kind, object, { dryRun });
    return undefined;
  }
  const { namespace, name, uid } = object.metadata;
  const ref: Ref = { name, ...(namespace !== undefined && { namespace }) };
  const seen = seenOf({ object, annotations, chosen });
  const values = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [key, value ?? null]));
  for (let tries = 1; ; tries += 1) {
    const now = await client.get(kind, ref);
    if (!now || now.metadata.uid !== uid)
      throw unwritten(kind, name, 'is another one than a moment ago: look at it again, and repeat the command');
    if (seenOf({ object: now, annotations, chosen }) !== seen) return now;
    const { resourceVersion } = now.metadata;
    try {
      await client.patch(kind, ref, { metadata: { uid, resourceVersion, annotations: values } }, { type: 'merge', dryRun });
      return undefined;
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (tries === MOST_TRIES)
        throw unwritten(kind, name, 'is written by others all the time, nothing was changed: repeat the command', error);
    }
  }
}

const unwritten = ({ kind }: Resource, name: string, why: string, cause?: unknown): FlotillaError =>
  new FlotillaError('FLOTILLA_NO_UPGRADE', `${kind} ${name} ${why}`, { cause });

/** The parts of a window, in the order of their options. */
export const WINDOW_PARTS = WindowParts.keyof().options;

/** The action on the same object that takes a change back, or a command of another program. */
export type Undo =
  | (Pick<ActionRequest, 'action' | 'reason' | 'window'> & {
      /** A pause with `--now`, which the console does not offer; default false. */
      readonly stops?: boolean;
    })
  | { readonly command: string };

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that takes a change of an object back, and the request of the console where that brings back all. */
export function describeUndo(undo: Undo, { namespace, name }: Ref): Pick<ChangeAnswer, 'undo' | 'undoing'> {
  if ('command' in undo) return { undo: undo.command };
  const { stops = false, ...undoing } = undo;
  const { action, reason, window = {} } = undoing;
  const words = [
    'flotilla',
    action.replace('-', ' '),
    name,
    ...(namespace === undefined ? [] : [`-n ${namespace}`]),
    ...(stops ? ['--now'] : []),
    ...(reason === undefined ? [] : [`--reason ${quoted(reason)}`]),
    ...WINDOW_PARTS.flatMap((part) => (window[part] === undefined ? [] : [`--${part} ${quoted(window[part])}`])),
  ];
  return { undo: words.join(' '), ...(!stops && { undoing }) };
}
