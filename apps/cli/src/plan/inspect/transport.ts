import { type KubeObject, type Resource, readJson } from '@flotilla/api';
import { InspectAnswer, type NodeInventory } from '@flotilla/api/ran';
import type { SpokeObject } from '@flotilla/rollout';
import { type Client, createMissing } from '@flotilla/runtime';

/** Longest answer that is read: a bit for each of twenty thousand layers, thrice. */
const MOST_ANSWER = 16_384;

/** Answer of an inspection with what could not be taken away, or why there is none. */
export type Outcome = { readonly inventory: NodeInventory; readonly left?: string } | { readonly why: string };

/** One inspection of one cluster. */
export interface Inspection {
  readonly client: Client;
  readonly cluster: string;
  /** On every object of the asker's: others' are left alone. */
  readonly id: string;
  readonly objects: readonly SpokeObject[];
}

/** A transport of an inspection to a cluster. */
export interface InspectTransport {
  /** Objects that it writes on the hub, for the question. */
  readonly writes: string;
  /** Lets the server check the first object, and stores nothing. */
  check(inspection: Inspection): Promise<void>;
  /**
   * Puts the objects there and waits for the answer.
   * @throws InspectRefusal with what the cluster said, or the signal's reason
   */
  ask(inspection: Inspection, signal: AbortSignal): Promise<InspectAnswer>;
  /** Takes everything away, and waits until it is gone; true when it is. */
  remove(inspection: Inspection, signal: AbortSignal): Promise<boolean>;
}

/** A cluster, or its agent, refuses. */
export class InspectRefusal extends Error {}

/** Parses what a cluster wrote; undefined for an answer that is none. */
export const parseAnswer = (text = ''): InspectAnswer | undefined =>
  text.length > MOST_ANSWER ? undefined : InspectAnswer.safeParse(readJson(text)).data;

/** Creates an object of an inspection. @throws InspectRefusal where another one has its name */
export async function createFor<T extends KubeObject>(
  { client }: Inspection,
  kind: Resource<T>,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (await createMissing(client, kind, object, { signal })) return;
  const there = `${kind.kind} ${object.metadata.name} is there`;
  throw new InspectRefusal(`${there}: somebody else inspects; delete it when nobody does`);
}

/** Lets the server check an object, which may be there already, and stores nothing. */
export async function rehearse<T extends KubeObject>({ client }: Inspection, kind: Resource<T>, object: KubeObject): Promise<void> {
  await createMissing(client, kind, object, { dryRun: true });
}
