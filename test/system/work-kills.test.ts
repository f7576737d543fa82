/** An agent that dies at any write of a large work leaves nothing of it behind, and takes nothing of others, on a real API server. */
import { AGENT_FIELD_MANAGER, createWorkRecords, DEFAULT_WORK_CADENCE, passWork, type WorkMemory, type WorkPass } from '@flotilla/agent';
import { foreign, KubeObject, mergePatched, untyped } from '@flotilla/api';
import { ConfigMap, Namespace, Role, Secret, ServiceAccount } from '@flotilla/api/core';
import { AppliedManifestWork, ManifestWork, spokeWorkCrds, WORK_FINALIZER } from '@flotilla/api/ocm';
import { RandomValues } from '@flotilla/control-plane/fuzzing';
import { type ApiServer, type ControllerManager, startApiServer, startControllerManager } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createObjectAccess } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

type Json = Record<string, unknown>;

const OBJECTS = 150;
/** Writes that every agent comes to: the work's records, its objects, which are made once and removed once, and its statuses. */
const WRITES = 2 * OBJECTS;
/** `npm run matrix:kills` kills at every fifth write; the suite once while objects are made, once around the edit, and once while they go. */
const { CELLS, SEED } = z.object({ CELLS: z.string().optional(), SEED: z.coerce.number().int().default(0) }).parse(process.env);
const random = new RandomValues(SEED, 'kills of a work');
const few = [2 + random.below(OBJECTS - 2), OBJECTS + random.below(10), OBJECTS + 10 + random.below(OBJECTS - 10)];
const all = Array.from({ length: WRITES / 5 }, (_, index) => 1 + 5 * index + random.below(5));
const KILLS = (CELLS === 'all' ? all : few).map((diesAt) => ({ diesAt, isAfter: random.below(2) === 0 }));

const kinds = { ConfigMap, Secret, Role, ServiceAccount, Budget: untyped('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets') };
type KindName = keyof typeof kinds;
const contents: Readonly<Record<KindName, Json>> = {
  ConfigMap: { data: { a: '1' } },
  Secret: { stringData: { a: '1' } },
  Role: { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
  ServiceAccount: {},
  Budget: { spec: { maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } } },
};
const kindNames = Object.keys(kinds) as KindName[];

let server: ApiServer;
let controllers: ControllerManager;
let client: Client;

beforeAll(async () => {
  server = await startApiServer({ crds: spokeWorkCrds(), own: true });
  controllers = await startControllerManager(server);
  client = await server.client();
});
afterAll(async () => {
  await controllers?.stop();
  await server?.stop();
});

/** A client whose process dies at its n-th write: before it takes effect, or right after. */
class Mortal {
  readonly client: Client;
  readonly #diesAt: number;
  readonly #isAfter: boolean;
  #writes = 0;
  isDead = false;

  constructor(diesAt: number, isAfter: boolean) {
    this.#diesAt = diesAt;
    this.#isAfter = isAfter;
    this.client = new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const isRead = ['get', 'list'].includes(String(name)) || args[0] === 'GET';
          return this.write(async () => Reflect.apply(value, target, args), isRead);
        };
      },
    });
  }

  get hasDied(): boolean {
    return this.#writes >= this.#diesAt;
  }

  async write<T>(send: () => Promise<T>, isRead = false): Promise<T> {
    if (this.isDead) throw new Error('dead');
    if (!isRead) this.#writes += 1;
    if (isRead || this.#writes !== this.#diesAt) return send();
    this.isDead = true;
    if (this.#isAfter) await send();
    throw new Error('dead');
  }
}

/** A work on a hub in memory, and its agent on a clock that runs ahead. */
class Life {
  readonly agent: Mortal;
  readonly #namespace: string;
  #nowMs = Date.parse('2026-01-01T00:00:00Z');
  #memory: WorkMemory | undefined;
  work: ManifestWork;

  constructor(namespace: string, agent: Mortal) {
    this.#namespace = namespace;
    this.agent = agent;
    this.work = ManifestWork.schema.parse({
      metadata: { name: namespace, namespace: 'spoke-1', uid: namespace, generation: 1, finalizers: [WORK_FINALIZER] },
      spec: { workload: { manifests: this.manifests(() => true) } },
    });
  }

  manifests(isKept: (index: number) => boolean): Json[] {
    const own = Array.from({ length: OBJECTS }, (_, index) => index).filter(isKept);
    return [...own.map((index) => objectOf(this.#namespace, `own-${index}`, index)), objectOf(this.#namespace, 'found', 0)];
  }

  edit(change: Json): void {
    const generation = (this.work.metadata.generation ?? 0) + 1;
    this.work = ManifestWork.schema.parse(mergePatched(this.work, mergePatched({ metadata: { generation } }, change)));
  }

  /** Passes until one has nothing to tell, or the agent dies. A new one has no memory. */
  async live(): Promise<void> {
    for (let passes = 0; passes < 20; passes += 1) {
      const pass = await this.#pass();
      // what a dead agent has made out does not reach the hub
      if (pass?.finalizers || pass?.status) await this.agent.write(async () => this.#store(pass)).catch(() => undefined);
      if (this.agent.isDead) {
        this.#memory = undefined;
        this.agent.isDead = false;
        return;
      }
      this.#memory = pass?.memory;
      this.#nowMs += pass?.requeueAfterMs ?? 0;
      if (!pass?.finalizers && !pass?.status) return;
    }
  }

  #store({ finalizers, status }: WorkPass): void {
    const { metadata } = this.work;
    this.work = ManifestWork.schema.parse({
      ...this.work,
      metadata: { ...metadata, ...(finalizers && { finalizers }) },
      ...(status && { status }),
    });
  }

  async #pass(): Promise<WorkPass | undefined> {
    const { client: mortal } = this.agent;
    const spoke = { objects: createObjectAccess(mortal, AGENT_FIELD_MANAGER), records: createWorkRecords(mortal, 'https://hub.test') };
    const moment = { nowMs: this.#nowMs, random: 0, cadence: DEFAULT_WORK_CADENCE };
    return passWork(this.work, this.#memory, spoke, moment).catch((error: unknown) => {
      if (this.agent.isDead) return undefined;
      throw error;
    });
  }
}

function objectOf(namespace: string, name: string, index: number): Json {
  const kind = kindNames[index % kindNames.length] ?? 'ConfigMap';
  return { apiVersion: kinds[kind].apiVersion, kind: kinds[kind].kind, metadata: { name, namespace }, ...contents[kind] };
}

const Found = foreign(KubeObject.extend({ data: z.unknown().optional() }));

/** Objects of the work's kinds in a namespace, but for those that the cluster makes, with their annotations and data. */
async function left(namespace: string): Promise<string[]> {
  const lists = await Promise.all(
    Object.values(kinds).map(async (kind) => {
      const { items } = await client.list({ ...kind, schema: Found }, { namespace });
      return items.map(({ metadata: { name, annotations = {} }, data }) => ({ kind: kind.kind, name, annotations, data }));
    }),
  );
  return lists
    .flat()
    .filter(({ name }) => name !== 'kube-root-ca.crt' && name !== 'default')
    .map(({ kind, name, annotations, data }) => [kind, name, ...Object.keys(annotations), JSON.stringify(data)].join(' '))
    .sort();
}

/** The agent passes, again and again, until that is so. */
const until = (life: Life, isSo: () => Promise<boolean>) =>
  eventually(
    async () => {
      await life.live();
      return isSo();
    },
    'what the work asks for',
    60_000,
  );

test.each(KILLS)('killed at write $diesAt (after it took effect: $isAfter), then edited, then deleted', async ({ diesAt, isAfter }) => {
  const { metadata } = await client.create(Namespace, { metadata: { name: '', generateName: `kills-${diesAt}-` } });
  const { name: namespace } = metadata;
  for (const name of ['foreign', 'found'])
    await client.create(ConfigMap, { metadata: { name, namespace }, data: { theirs: 'yes' } } as KubeObject);
  const life = new Life(namespace, new Mortal(diesAt, isAfter));
  await life.live();
  life.edit({ spec: { workload: { manifests: life.manifests((index) => index % 2 === 0) } } });
  await until(life, async () => (await left(namespace)).filter((line) => line.includes(' own-')).length === OBJECTS / 2);
  life.edit({ metadata: { deletionTimestamp: '2026-01-01T01:00:00Z' } });
  await until(life, async () => life.work.metadata.finalizers?.length === 0);
  expect(life.agent.hasDied).toBe(true);
  expect(await left(namespace)).toEqual(['ConfigMap foreign {"theirs":"yes"}', 'ConfigMap found {"a":"1"}']);
  expect((await client.list(AppliedManifestWork)).items).toEqual([]);
});
