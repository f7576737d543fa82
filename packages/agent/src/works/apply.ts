import { isJsonObject, mergePatch } from '@flotilla/api';
import { replaceFields } from '@flotilla/release/objects';
import { isConflict, qualifiedName, ServerRefusal } from '@flotilla/runtime';
import type { WorkAccess } from '../access.ts';
import { AGENT_FIELD_MANAGER, isAway, textOf } from '../semantics.ts';
import type { WorkManifest } from './manifests.ts';
import { type Holder, markedManifest } from './marks.ts';

/** Field manager of works on a spoke, and prefix of the field managers that a work may choose (spec/ocm 4.1). */
const WORK_FIELD_MANAGER = 'work-agent';

type Json = Record<string, unknown>;

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
export async function applyManifest(manifest: WorkManifest, holder: Holder, access: WorkAccess): Promise<Applied> {
  const { target, config, refusal } = manifest;
  if (refusal !== undefined || !target) return { error: refusal ?? 'the manifest names nothing', reason: AppliedReason.failed };
  const strategy = config?.updateStrategy;
  if (strategy?.serverSideApply?.ignoreFields)
    return { error: 'serverSideApply.ignoreFields is not supported by this agent: remove it', reason: AppliedReason.ignoreFields };
  try {
    const object = await applyBy({ ...manifest, target }, holder, access);
    return { error: undefined, reason: AppliedReason.complete, object };
  } catch (error) {
    if (isAway(error)) throw error;
    return { error: textOf(error), reason: AppliedReason.failed };
  }
}

type Ready = WorkManifest & { readonly target: NonNullable<WorkManifest['target']> };

async function applyBy(manifest: Ready, holder: Holder, access: WorkAccess): Promise<Json | undefined> {
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
      return replaceObject(manifest, holder, access);
    case 'ServerSideApply':
      return applyFields(manifest, holder, access, chosenFields(manifest));
    default:
      // The manifest was refused before.
      throw new ServerRefusal(`updateStrategy.type ${JSON.stringify(type)} is unknown`);
  }
}

function chosenFields({ config }: Ready) {
  const { force = false, fieldManager = WORK_FIELD_MANAGER } = config?.updateStrategy?.serverSideApply ?? {};
  if (fieldManager.startsWith(WORK_FIELD_MANAGER)) return { fieldManager, force };
  throw new ServerRefusal(
    `serverSideApply.fieldManager ${JSON.stringify(fieldManager)} is not allowed: let it begin with ${WORK_FIELD_MANAGER}`,
  );
}

/** Writes of one object in a row, each after somebody else's. */
const MOST_WRITES = 3;

/**
 * Makes the object's top-level fields those of the manifest, as the framework's own agent does. Labels, annotations and top-level fields that the
 * manifest never had belong to others.
 */
async function replaceObject({ target, object }: Ready, holder: Holder, access: WorkAccess): Promise<Json> {
  const { served, namespace, name } = target;
  for (let writes = 1; ; writes++) {
    const live = await access.find(served, namespace, name);
    const marked = markedManifest(object, target, holder, live);
    if (!live) return access.create(served, namespace, marked);
    checkStays(live, target);
    const patch = mergePatch(live, replaceFields(live, marked, isOwnManager));
    if (!isJsonObject(patch)) return live;
    const { resourceVersion } = isJsonObject(live.metadata) ? live.metadata : {};
    const metadata = { ...(isJsonObject(patch.metadata) && patch.metadata), resourceVersion };
    try {
      // all that an update would write, by the right that an apply takes
      return await access.mergePatch(served, namespace, name, { ...patch, metadata });
    } catch (error) {
      if (writes >= MOST_WRITES || !(error instanceof ServerRefusal && isConflict(error.cause))) throw error;
    }
  }
}

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
  fields: { fieldManager: string; force: boolean },
): Promise<Json> {
  const { served, namespace, name } = target;
  const live = await access.find(served, namespace, name);
  if (live) checkStays(live, target);
  return access.apply(served, namespace, name, markedManifest(object, target, holder, live), fields);
}
