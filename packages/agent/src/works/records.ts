import { createHash } from 'node:crypto';
import { AppliedManifestWork, type AppliedResource } from '@flotilla/api/ocm';
import { type Client, isAlreadyExists, isForbidden, isNotFound, readServedResources } from '@flotilla/runtime';
import { shortened } from './marks.ts';

/** Objects that a work holds on the spoke. The record is written before the first object, so that no end of the agent loses one. */
export interface WorkRecord {
  readonly resources: readonly AppliedResource[];
  /** RFC 3339; the work is missing on the hub since then. */
  readonly evictionStartTime?: string | undefined;
}

/** Records of the works of one hub on a spoke. */
export interface WorkRecords {
  read(work: string): Promise<WorkRecord | undefined>;
  /** False where the spoke has no definition of records. @param isNew no record was read */
  write(work: string, record: WorkRecord, isNew: boolean): Promise<boolean>;
  remove(work: string): Promise<void>;
  /** Names of the works that have records. */
  works(): Promise<string[]>;
}

/** Agent of the records, so that a stock agent of the same spoke leaves them alone. */
const AGENT_ID = 'flotilla';
const LONGEST_NAME = 253;

/** Keeps records as AppliedManifestWorks. Their names begin unlike those of a stock agent, which takes what begins with its hub's hash for its own. */
export function createWorkRecords(client: Client, hubServer: string): WorkRecords {
  const hubHash = createHash('sha256').update(hubServer).digest('hex');
  const prefix = `flotilla-${hubHash.slice(0, 16)}-`;
  const refOf = (work: string) => ({ name: prefix + shortened(work, LONGEST_NAME - prefix.length) });
  const [group = '', version = ''] = AppliedManifestWork.apiVersion.split('/', 2);
  const isServed = async () =>
    (await readServedResources(client, group, version)).some(({ plural }) => plural === AppliedManifestWork.plural);
  /** A spoke without the definition refuses in many ways; the definition is looked for only then. */
  const whereServed = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await call();
    } catch (error) {
      if ((isNotFound(error) || isForbidden(error)) && !(await isServed())) return undefined;
      throw error;
    }
  };
  const create = async (work: string) => {
    const spec = { hubHash, manifestWorkName: work, agentID: AGENT_ID };
    await client.create(AppliedManifestWork, { metadata: refOf(work), spec }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  };
  const patch = async (work: string, { resources, evictionStartTime }: WorkRecord) => {
    const status = { appliedResources: resources, evictionStartTime: evictionStartTime ?? null };
    await client.patch(AppliedManifestWork, refOf(work), { status }, { type: 'merge', subresource: 'status' });
  };
  return {
    async read(work) {
      const found = await whereServed(() => client.get(AppliedManifestWork, refOf(work)));
      if (!found) return undefined;
      return { resources: found.status?.appliedResources ?? [], evictionStartTime: found.status?.evictionStartTime };
    },
    async write(work, record, isNew) {
      const written = await whereServed(async () => {
        if (isNew) await create(work);
        try {
          await patch(work, record);
        } catch (error) {
          if (!isNotFound(error)) throw error;
          // Somebody removed the record meanwhile.
          await create(work);
          await patch(work, record);
        }
        return true;
      });
      return written ?? false;
    },
    async remove(work) {
      await whereServed(() => client.delete(AppliedManifestWork, refOf(work)));
    },
    async works() {
      const found = await whereServed(() => client.list(AppliedManifestWork));
      return (found?.items ?? []).filter(({ metadata }) => metadata.name.startsWith(prefix)).map(({ spec }) => spec.manifestWorkName);
    },
  };
}

/** Keeps records in memory, for simulated spokes. */
export function createMemoryRecords(): WorkRecords {
  const records = new Map<string, WorkRecord>();
  return {
    read: async (work) => records.get(work),
    async write(work, record) {
      records.set(work, record);
      return true;
    },
    async remove(work) {
      records.delete(work);
    },
    works: async () => [...records.keys()],
  };
}
