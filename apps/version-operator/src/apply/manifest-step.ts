import { KubeObject, type Resource } from '@flotilla/api';
import {
  type BuildContext,
  type Intent,
  isSameContent,
  type Json,
  judgeOperator,
  type Manifest,
  type ManifestLook,
  type ManifestState,
  type ObjectVerdict,
  type PayloadState,
  ready,
  STUCK_MS,
  stateOfManifest,
  updateErrorOf,
  waiting,
} from '@flotilla/release';
import { ApiError, type Client, isAlreadyExists, isConflict, isNotFound, type Semaphore } from '@flotilla/runtime';
import type { LiveObject } from '../cluster/live-object.ts';
import type { LiveObjects } from '../cluster/live-objects.ts';
import type { Wanted } from '../payload/wanted.ts';
import type { ClusterWriter } from './cluster-writer.ts';
import type { Deletions } from './deletions.ts';
import type { DriftTeller } from './drift-teller.ts';
import { heldBy, type StepEnd, taskError, trouble, unserved, withoutNamespace } from './held.ts';

/** Dependencies of applying a manifest. */
export interface StepTools {
  readonly client: Client;
  readonly live: LiveObjects;
  readonly writer: ClusterWriter;
  /** Bounds the requests under way; watches do not count. */
  readonly budget: Semaphore;
  readonly deletions: Deletions;
  readonly drift: DriftTeller;
}

/** Circumstances of the pass that applies a manifest. */
export interface StepPurpose {
  readonly state: PayloadState;
  readonly context: BuildContext;
  readonly degradedBlocks: boolean;
}

/** Looks that one step takes at most: more means that two writers undo each other's work. */
const MOST_LOOKS = 6;

/**
 * Does about a manifest what its object shows is to be done, until it is done or has to be waited for. Idempotent; stops anywhere.
 * @param task the manifest as messages name it
 */
export async function stepManifest(task: string, wanted: Wanted, purpose: StepPurpose, tools: StepTools): Promise<StepEnd> {
  try {
    let conflict: unknown;
    for (let looks = 1; looks <= MOST_LOOKS; looks++) {
      const end = await lookAndAct(task, wanted, { purpose, tools, onConflict: (error) => (conflict = error) });
      if (end) return end;
    }
    return trouble(wanted, updateErrorOf(task, { reason: 'Conflict', said: conflict instanceof ApiError ? conflict.serverMessage : '' }));
  } catch (error) {
    const away = isAway(error) ? await tools.live.whyAway(wanted.kindKey) : undefined;
    return trouble(wanted, taskError(task, error, away), error);
  }
}

/** The server that serves a group may be another one, and have gone away since its kinds were found. */
const isAway = (error: unknown): boolean => error instanceof ApiError && error.status === 503;

interface Look {
  readonly purpose: StepPurpose;
  readonly tools: StepTools;
  /** Told of a write that came after somebody else's. */
  readonly onConflict: (error: unknown) => void;
}

/** States in which there is something to find out or to tell where nothing is written. */
const OBSERVED: ReadonlySet<ManifestState> = new Set(['missing', 'unread', 'unproven', 'drifted', 'unwanted']);

/** Undefined when there is to be another look. */
async function lookAndAct(task: string, wanted: Wanted, given: Look): Promise<StepEnd | undefined> {
  const { purpose, tools } = given;
  const { live, deletions } = tools;
  const intent = live.intentOf(wanted);
  if (!intent) return { done: true };
  const isServed = await live.read(wanted.kindKey);
  // A kind that nobody could look for is not gone: deletions are not asked again after the update.
  if (intent === 'delete' && purpose.state === 'Updating' && !isServed && live.whyUnknown(wanted.kindKey) !== undefined) {
    if (await live.look([wanted.kindKey])) return undefined;
    const why = live.whyUnknown(wanted.kindKey);
    if (why !== undefined) return trouble(wanted, taskError(task, why), why);
  }
  const object = live.get(wanted);
  const verdict = verdictOf(wanted, object, purpose);
  const look: ManifestLook = {
    intent,
    isServed,
    object: standingOf(wanted, object, intent, purpose, tools),
    verdict: verdict.is,
    deletes: intent === 'delete' && purpose.state === 'Updating' && object !== undefined && !(await deletions.has(wanted)),
  };
  const state = stateOfManifest(look);
  if (state === 'done') return { done: true, ...(intent === 'apply' && verdict.is === 'reported' && { reported: verdict.error }) };
  if (tools.writer.isObserving && !OBSERVED.has(state)) return { done: true };
  if (state === 'settling' || state === 'failing') return heldBy(wanted, verdict);
  return act(state, { ...given, task, wanted, object });
}

function standingOf(
  wanted: Wanted,
  object: LiveObject | undefined,
  intent: Intent,
  { state }: StepPurpose,
  { live, drift }: StepTools,
): ManifestLook['object'] {
  // a Job that is to go after it ended is not run again
  if (!object) return state === 'Reconciling' && isPassingJob(wanted) ? 'same' : 'absent';
  if (object.metadata.deletionTimestamp !== undefined) return 'ending';
  // between its creation and the end of an update an operator is its operator's
  if (intent !== 'apply' || (wanted.expected && state !== 'Reconciling')) return 'same';
  const standing = live.standing(wanted) ?? 'unread';
  return standing === 'unproven' && drift.isRefused(wanted) ? 'same' : standing;
}

function isPassingJob({ manifest }: Wanted): boolean {
  if (manifest.group !== 'batch' || manifest.kind !== 'Job') return false;
  const { spec } = manifest.object;
  return typeof spec === 'object' && spec !== null && 'ttlSecondsAfterFinished' in spec;
}

function verdictOf({ builder, expected, manifest }: Wanted, object: LiveObject | undefined, purpose: StepPurpose): ObjectVerdict {
  const { judged } = object ?? {};
  if (!object || !judged) {
    if (object?.metadata.deletionTimestamp === undefined) return ready;
    const { kind, name } = manifest;
    return beingDeleted(manifest, {
      reason: 'UpdatePayloadResourceNotFound',
      message: `${kind.toLowerCase()} ${name} is being deleted`,
      names: [name],
    });
  }
  if (expected) return judgeOperator(judged, expected, purpose);
  return builder.judge?.(judged, purpose) ?? ready;
}

const beingDeleted = ({ kind }: Manifest, parts: { reason: string; message: string; names: string[] }): ObjectVerdict =>
  waiting({ ...parts, awaited: { kind: kind.toLowerCase(), how: 'it is being deleted', limitMs: STUCK_MS } });

interface Act extends Look {
  readonly task: string;
  readonly wanted: Wanted;
  readonly object: LiveObject | undefined;
}

async function act(state: Exclude<ManifestState, 'done' | 'settling' | 'failing'>, given: Act): Promise<StepEnd | undefined> {
  const { task, wanted, tools } = given;
  const kind = tools.live.kinds.find(wanted.kindKey);
  if (state === 'unserved' || !kind) {
    if (await tools.live.look([wanted.kindKey])) return undefined;
    return unserved(task, wanted, await tools.live.whyAway(wanted.kindKey));
  }
  switch (state) {
    case 'missing':
      return create(given, kind);
    case 'unread':
      return read(given, kind);
    case 'unproven':
      return prove(given, kind);
    case 'drifted':
      return (await isScaled(given)) ? undefined : write(given, kind);
    case 'unwanted':
      return remove(given, kind);
  }
}

async function create({ task, wanted, purpose: { context, state }, tools }: Act, kind: Resource<LiveObject>): Promise<StepEnd | undefined> {
  const { live, writer } = tools;
  const { namespace } = wanted.manifest;
  if (kind.namespaced && live.lacksNamespace(namespace) && !writer.isObserving) return withoutNamespace(task, wanted);
  const object = wanted.build(context);
  try {
    const early = live.kinds.isHeldBack(wanted.kindKey) ? await createEarly(writer, kind, object) : undefined;
    const stored = early ?? (await writer.create(kind, object));
    if (!stored) return { done: true };
    if (state === 'Reconciling') tools.drift.deleted(wanted);
    if (state === 'Initializing') live.expectNone(wanted.defines);
    // an apply adds to what somebody else was faster with: its answer says nothing about the server's way of writing things down
    live.take(wanted, stored, early ? 'read' : 'written');
    return undefined;
  } catch (error) {
    // a kind that is said to be served may take a moment to be
    if (isNotFound(error) && (await live.readNew([wanted.kindKey]))) return undefined;
    if (!isAlreadyExists(error)) throw error;
    return read({ wanted, tools }, kind);
  }
}

/** Makes an object of a kind that the server holds a POST back for. Undefined where that is the only way: an apply is more particular. */
async function createEarly(writer: ClusterWriter, kind: Resource<LiveObject>, object: Json): Promise<KubeObject | undefined> {
  try {
    return await writer.apply(kind, object);
  } catch (error) {
    if (isRefusal(error) || isConflict(error)) return undefined;
    throw error;
  }
}

async function read({ wanted, tools }: Pick<Act, 'wanted' | 'tools'>, kind: Resource<LiveObject>): Promise<undefined> {
  const { live, client, budget } = tools;
  const object = await budget.run(() => client.get<KubeObject>({ ...kind, schema: KubeObject }, wanted.manifest));
  if (object) live.take(wanted, object, 'read');
  else live.forget(wanted);
  return undefined;
}

async function isScaled({ wanted, object, tools }: Act): Promise<boolean> {
  const { whole } = object?.seen ?? {};
  return whole !== undefined && (await tools.live.isScaled(wanted, KubeObject.parse(whole)));
}

async function write(
  { wanted, object, purpose: { state }, tools, onConflict }: Act,
  kind: Resource<LiveObject>,
): Promise<StepEnd | undefined> {
  const { live, writer } = tools;
  const { whole } = object?.seen ?? {};
  if (!whole) return read({ wanted, tools }, kind);
  try {
    const stored = await writer.replace(kind, whole, live.merge(wanted, whole));
    if (!stored) return { done: true };
    if (state === 'Reconciling') tools.drift.changed(wanted, whole, stored);
    live.take(wanted, stored, 'written');
    return undefined;
  } catch (error) {
    return readAgain({ wanted, tools, onConflict }, kind, error);
  }
}

/** Asks the server whether the object is what it makes of the manifest. One that it refuses to answer about counts as it seems until it is asked again. */
async function prove(given: Act, kind: Resource<LiveObject>): Promise<StepEnd | undefined> {
  const { task, wanted, object, tools } = given;
  const { whole } = object?.seen ?? {};
  if (!whole) return read(given, kind);
  let made: Json | undefined;
  try {
    made = await tools.writer.prove(kind, tools.live.merge(wanted, whole));
  } catch (error) {
    if (!isRefusal(error)) return readAgain(given, kind, error);
    tools.drift.unproven(task, wanted, error);
    return undefined;
  }
  tools.drift.proven(wanted);
  if (made && !isSameContent(whole, made)) return write(given, kind);
  tools.live.settle(wanted, whole);
  return undefined;
}

/** A webhook, a quota or missing rights; whoever is busy or away is asked again. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError &&
  ((error.status >= 400 && error.status < 500) || error.status === 500) &&
  ![404, 408, 409, 429].includes(error.status);

/** Somebody was faster: the object is read, for another look. */
function readAgain(given: Pick<Act, 'wanted' | 'tools' | 'onConflict'>, kind: Resource<LiveObject>, error: unknown): Promise<undefined> {
  if (!isConflict(error) && !isNotFound(error)) throw error;
  given.onConflict(error);
  return read(given, kind);
}

async function remove({ wanted, object, tools }: Act, kind: Resource<LiveObject>): Promise<StepEnd | undefined> {
  if (!object) return undefined;
  await tools.writer.delete(kind, object);
  if (tools.writer.isObserving) return { done: true };
  await tools.deletions.record(wanted);
  return read({ wanted, tools }, kind);
}
