import { errorMessage, isSameJson } from '@flotilla/api';
import { AppliedManifestWork, type AppliedResource, type ManifestWork } from '@flotilla/api/ocm';
import { isAway } from '../semantics.ts';
import type { Applied, ApplySpoke } from './apply.ts';
import { isOrphaned, type ResourceMeta, type WorkManifest } from './manifests.ts';
import { type Holder, madeUid, markKey } from './marks.ts';
import type { WorkRecord, WorkRecords } from './records.ts';

/** A spoke, as a pass over a work uses it. */
export interface WorkSpoke extends ApplySpoke {
  readonly records: WorkRecords;
}

/** Identifies an object of a record, or of a status, across versions. */
const placeOf = ({ group = '', resource = '', namespace = '', name = '' }: Partial<AppliedResource>): string =>
  [group, resource, namespace, name].join('/');

/** Objects that a work holds on the spoke, by the record of it there. */
export class Holdings {
  readonly #work: string;
  readonly #records: WorkRecords;
  /** Record as the spoke has it. */
  #written: WorkRecord | undefined;
  readonly #entries: Map<string, AppliedResource>;
  /** The spoke keeps the record; false where it has no definition of it. */
  isKept: boolean;

  private constructor(work: string, records: WorkRecords, before: WorkRecord | undefined) {
    this.#work = work;
    this.#records = records;
    this.#written = before;
    this.#entries = new Map((before?.resources ?? []).map((entry) => [placeOf(entry), entry]));
    this.isKept = before !== undefined;
  }

  static async read({ metadata: { name } }: ManifestWork, records: WorkRecords): Promise<Holdings> {
    return new Holdings(name, records, await inRecordWords(() => records.read(name)));
  }

  /** The work as a holder of an object. */
  holder(meta: Partial<AppliedResource>): Holder {
    return { key: markKey(this.#work), uid: this.#find(meta)?.uid };
  }

  #find(meta: Partial<AppliedResource>): AppliedResource | undefined {
    const place = placeOf(meta);
    const isUnserved = !meta.resource;
    return this.#entries.get(place) ?? (isUnserved ? [...this.#entries.values()].find((entry) => bare(entry) === place) : undefined);
  }

  /** Objects of the record that these do not name: an edit during a pass, or a dead agent, left them. */
  besides(named: readonly ResourceMeta[]): ResourceMeta[] {
    const places = new Set(named.map(placeOf));
    // An object whose kind is not served at the moment has no plural in its manifest, and is named all the same.
    const isNamed = (entry: AppliedResource) => places.has(placeOf(entry)) || places.has(bare(entry));
    return [...this.#entries.values()]
      .filter((entry) => !isNamed(entry))
      .map(({ group, version, resource, namespace, name }) => ({ ordinal: 0, kind: '', group, version, resource, namespace, name }));
  }

  /** Records the objects that a work is about to make; those that it leaves on the spoke are none of them. */
  async expect(work: ManifestWork, manifests: readonly WorkManifest[]): Promise<void> {
    for (const { target, config, refusal, meta } of manifests) {
      if (!target || refusal !== undefined || config?.updateStrategy?.type === 'ReadOnly') continue;
      if (isOrphaned(work, meta)) this.#entries.delete(placeOf(meta));
      else if (!this.#entries.has(placeOf(meta))) this.#entries.set(placeOf(meta), entryOf(meta));
    }
    const known = new Set((this.#written?.resources ?? []).map(placeOf));
    if ([...this.#entries.keys()].some((place) => !known.has(place))) await this.#write();
  }

  /** Notes the object that a manifest was applied to. */
  applied(meta: ResourceMeta, { object }: Applied): void {
    if (!object || !this.#entries.has(placeOf(meta))) return;
    const uid = madeUid(object, this.holder(meta));
    this.#entries.set(placeOf(meta), { ...entryOf(meta), ...(uid !== undefined && { uid }) });
  }

  /** Forgets an object that is gone, or somebody else's now. */
  forget(meta: ResourceMeta): void {
    this.#entries.delete(placeOf(meta));
  }

  /** Writes the record where it has changed. */
  async keep(): Promise<void> {
    const { resources = [], evictionStartTime } = this.#written ?? {};
    if (evictionStartTime !== undefined || !isSameJson([...this.#entries.values()], resources)) await this.#write();
  }

  /** Removes the record with its last object. */
  async end(): Promise<void> {
    await inRecordWords(() => this.#records.remove(this.#work));
  }

  async #write(): Promise<void> {
    const record = { resources: [...this.#entries.values()] };
    this.isKept = await inRecordWords(() => this.#records.write(this.#work, record, !this.isKept));
    if (this.isKept) this.#written = record;
  }
}

/** Place without the plural, which nobody knows while the kind is not served. */
const bare = (entry: AppliedResource): string => placeOf({ ...entry, resource: '' });

const entryOf = ({ group = '', version = '', resource = '', namespace = '', name = '' }: ResourceMeta): AppliedResource => ({
  group,
  version,
  resource,
  namespace,
  name,
});

/** The record of a work cannot be read or written, so that nothing may be made. */
export class RecordRefusal extends Error {}

async function inRecordWords<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isAway(error)) throw error;
    const rights = `give the agent get, list, create, patch and delete of ${AppliedManifestWork.plural}, and patch of their status`;
    throw new RecordRefusal(`the record of its objects on the spoke is refused: ${errorMessage(error)}: ${rights}`, { cause: error });
  }
}
