import { isJsonObject, mergePatch } from '@flotilla/api';
import { keepScale, replaceFields } from '@flotilla/release/objects';
import { type Autoscalers, isConflict, qualifiedName, ServerRefusal } from '@flotilla/runtime';
import type { WorkAccess } from '../access.ts';
import { AGENT_FIELD_MANAGER, isAway, textOf } from '../semantics.ts';
import { leaveIgnored, refusalOfIgnored } from './ignored-fields.ts';
import type { WorkManifest } from './manifests.ts';
import { type Holder, markedManifest } from './marks.ts';

/** Field manager of works on a spoke, and prefix of the field managers that a work may choose (spec/ocm 4.1). */
const WORK_FIELD_MANAGER = 'work-agent';

type Json = Record<string, unknown>;

/** A spoke, as manifests are applied to it. */
export interface ApplySpoke {
  readonly objects: WorkAccess;
  /** Absent: nothing is scaled there. */
  readonly autoscalers?: Pick<Autoscalers, 'isScaled'>;
}

/** Outcome of one apply; `error` undefined: success. */
export interface Applied {
  readonly error: string | undefined;
  readonly reason: (typeof AppliedReason)[keyof typeof AppliedReason];
  /** The object afterwards; undefined where it was not touched. */
  readonly object?: Json | undefined;
}

/** Reasons of a manifest's condition `Applied` (spec/ocm 4.2). */
export const AppliedReason = {
  complete: 'AppliedManifestComplete',
  failed: 'AppliedManifestFailed',
  ignoreFields: 'AppliedManifestSSAIgnoreFieldError',
} as const;

/** Applies one manifest by its update strategy. Never throws for a refusal of the spoke, only where it is away. */
export async function applyManifest(manifest: WorkManifest, holder: Holder, spoke: ApplySpoke): Promise<Applied> {
  const { target, config, refusal } = manifest;
  if (refusal !== undefined || !target) return { error: refusal ?? 'the manifest names nothing', reason: AppliedReason.failed };
  const ignoredRefusal = refusalOfIgnored(config?.updateStrategy);
  if (ignoredRefusal !== undefined) return { error: ignoredRefusal, reason: AppliedReason.ignoreFields };
  try {
    const object = await applyBy({ ...manifest, target }, holder, spoke);
    return { error: undefined, reason: AppliedReason.complete, object };
  } catch (error) {
    if (isAway(error)) throw error;
    return { error: textOf(error), reason: AppliedReason.failed };
  }
}

type Ready = WorkManifest & { readonly target: NonNullable<WorkManifest['target']> };

async function applyBy(manifest: Ready, holder: Holder, spoke: ApplySpoke): Promise<Json | undefined> {
  const { objects: access } = spoke;
  const type = manifest.config?.updateStrategy?.type || 'Update';
  const { served, namespace, name } = manifest.target;
  switch (type) {
    // `Available` alone tells whether the object exists.
    case 'ReadOnly':
      return undefined;
    case 'CreateOnly':
      return (
        (await access.find(served, namespace, name)) ??
        (await access.create(served, namespace, markedManifest(manifest.object, manifest.target, holder, undefined)))
      );
    case 'Update':
      return writeAgain(() => replaceObject(manifest, holder, spoke));
    case 'ServerSideApply': {
      const fields = chosenFields(manifest);
      const apply = () => applyFields(manifest, holder, access, fields);
      return fields.ignoreFields.length > 0 ? writeAgain(apply) : apply();
    }
    default:
      // The manifest was refused before.
      throw new ServerRefusal(`updateStrategy.type ${JSON.stringify(type)} is unknown`);
  }
}

function chosenFields({ config }: Ready) {
  const { force = false, fieldManager = WORK_FIELD_MANAGER, ignoreFields } = config?.updateStrategy?.serverSideApply ?? {};
  if (fieldManager.startsWith(WORK_FIELD_MANAGER)) return { fieldManager, force, ignoreFields: ignoreFields ?? [] };
  throw new ServerRefusal(
    `serverSideApply.fieldManager ${JSON.stringify(fieldManager)} is not allowed: let it begin with ${WORK_FIELD_MANAGER}`,
  );
}

/** Writes of one object in a row, each after somebody else's. */
const MOST_WRITES = 3;

/** Repeats a write that goes by what is there, where somebody wrote in between. */
async function writeAgain(write: () => Promise<Json>): Promise<Json> {
  for (let writes = 1; ; writes++) {
    try {
      return await write();
    } catch (error) {
      if (writes >= MOST_WRITES || !(error instanceof ServerRefusal && isConflict(error.cause))) throw error;
    }
  }
}

/**
 * Makes the object's top-level fields those of the manifest, as the framework's own agent does. Labels, annotations and top-level fields that the
 * manifest never had belong to others.
 */
async function replaceObject({ target, object }: Ready, holder: Holder, { objects: access, autoscalers }: ApplySpoke): Promise<Json> {
  const { served, namespace, name } = target;
  const live = await access.find(served, namespace, name);
  const marked = markedManifest(object, target, holder, live);
  if (!live) return access.create(served, namespace, marked);
  checkStays(live, target);
  const replaced = replaceFields(live, marked, isOwnManager);
  const scaled = keepScale(live, replaced);
  const isScaled = scaled !== replaced && (await autoscalers?.isScaled({ ...served, namespace, name }));
  const patch = mergePatch(live, isScaled ? scaled : replaced);
  if (!isJsonObject(patch)) return live;
  const metadata = { ...(isJsonObject(patch.metadata) && patch.metadata), resourceVersion: versionOf(live) };
  // all that an update would write, by the right that an apply takes
  return access.mergePatch(served, namespace, name, { ...patch, metadata });
}

const versionOf = ({ metadata }: Json): unknown => (isJsonObject(metadata) ? metadata.resourceVersion : undefined);

/** True for the names under which works were written, on the server too by older versions of this agent. */
const isOwnManager = (manager: string): boolean => manager === AGENT_FIELD_MANAGER || manager.startsWith(WORK_FIELD_MANAGER);

function checkStays({ metadata }: Record<string, unknown>, { served, name }: Ready['target']): void {
  if (isJsonObject(metadata) && metadata.deletionTimestamp)
    throw new ServerRefusal(`${qualifiedName(served, name)} is being deleted: it is created again when it is gone`);
}

/** Applies the manifest's fields and removes those it no longer has; fields it never had belong to others. */
async function applyFields(
  { target, object }: Ready,
  holder: Holder,
  access: WorkAccess,
  { ignoreFields, ...fields }: ReturnType<typeof chosenFields>,
): Promise<Json> {
  const { served, namespace, name } = target;
  const live = await access.find(served, namespace, name);
  if (live) checkStays(live, target);
  if (ignoreFields.length === 0) return access.apply(served, namespace, name, markedManifest(object, target, holder, live), fields);
  const marked = markedManifest(leaveIgnored(object, live, ignoreFields, fields.fieldManager), target, holder, live);
  // what is left as it is has to be what is there
  const metadata = { ...(isJsonObject(marked.metadata) && marked.metadata), resourceVersion: live && versionOf(live) };
  return access.apply(served, namespace, name, { ...marked, metadata }, fields);
}
