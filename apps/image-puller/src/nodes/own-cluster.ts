/** Reads and writes of pullers in their own cluster, by which they find each other. */
import { Annotation, errorMessage, KubeObject, readJson, resource } from '@flotilla/api';
import { Job } from '@flotilla/api/core';
import { type NodeRules, SpokeName } from '@flotilla/api/ran';
import { type Client, type Clock, isForbidden } from '@flotilla/runtime';
import { z } from 'zod';
import { expectedNodes, type ListedNode } from './expected-nodes.ts';
import type { Expected } from './members.ts';
import { LeadPlace } from './messages.ts';
import { type PodIdentity, parseKeys, type RefusedToken, verifyPodToken } from './pod-token.ts';

/** Nodes of one answer: with many images a node takes 100 KB and more. */
const PAGE = 20;
const MOST_NODES = 5_000;
const PAGE_BYTES = 8 * 1024 * 1024;
const KEYS_BYTES = 256 * 1024;
/** Keys of a cluster change seldom; an unknown one is looked for no more often than this. */
const KEYS_EVERY_MS = 10_000;
const CALL_MS = 10_000;

const Nodes = z.looseObject({
  metadata: z.looseObject({ continue: z.string().optional() }),
  items: z.array(
    z.looseObject({
      metadata: z.looseObject({
        name: z.string(),
        uid: z.string(),
        labels: z.record(z.string(), z.string()).default({}),
        deletionTimestamp: z.string().optional(),
      }),
      spec: z
        .looseObject({ taints: z.array(z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() })).default([]) })
        .default({ taints: [] }),
    }),
  ),
});
const DaemonSet = resource(
  'apps/v1',
  'DaemonSet',
  'daemonsets',
  true,
  KubeObject.extend({
    status: z
      .looseObject({
        desiredNumberScheduled: z.int().default(0),
        currentNumberScheduled: z.int().default(0),
        observedGeneration: z.int().optional(),
      })
      .optional(),
  }),
);

/**
 * Reads the nodes that are to be filled; their number alone where this account may not list nodes. Undefined before the cluster has counted them.
 */
export async function readExpected(
  client: Client,
  { rules, namespace, signal }: { readonly rules: NodeRules; readonly namespace: string; readonly signal: AbortSignal },
): Promise<Expected | undefined> {
  const readPods = async () => (await client.get(DaemonSet, { namespace, name: SpokeName.nodes }, { signal, timeoutMs: CALL_MS }))?.status;
  try {
    const nodes = expectedNodes(await listNodes(client, signal), rules);
    const pods = await readPods().catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      return undefined;
    });
    return { nodes, refusal: refusalOf(pods) };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const pods = await readPods();
    const { desiredNumberScheduled: count, observedGeneration } = pods ?? {};
    return observedGeneration === undefined || count === undefined ? undefined : { count, refusal: refusalOf(pods) };
  }
}

/** Says that the cluster admits no pods of the others: pod security, a quota or a policy. Which one it was is in events alone. */
function refusalOf(status: z.output<typeof DaemonSet.schema>['status']): string | undefined {
  const { desiredNumberScheduled: wanted = 0, currentNumberScheduled: made = 0 } = status ?? {};
  return made < wanted ? `the cluster made ${made} of ${wanted} pods of DaemonSet ${SpokeName.nodes}, its events say why` : undefined;
}

/** Lists the nodes of the cluster. */
export async function listNodes(client: Client, signal: AbortSignal): Promise<ListedNode[]> {
  const nodes: ListedNode[] = [];
  let next = '';
  do {
    const path = `/api/v1/nodes?limit=${PAGE}${next && `&continue=${encodeURIComponent(next)}`}`;
    const page = Nodes.parse(JSON.parse(await client.getText(path, { maxBytes: PAGE_BYTES, signal, timeoutMs: CALL_MS })));
    for (const { metadata, spec } of page.items)
      if (metadata.deletionTimestamp === undefined)
        nodes.push({ name: metadata.name, uid: metadata.uid, labels: metadata.labels, taints: spec.taints });
    next = page.metadata.continue ?? '';
  } while (next !== '' && nodes.length < MOST_NODES);
  return nodes;
}

/** Makes the lead known, in an annotation of its Job. */
export async function publishLead(
  client: Client,
  { place, ...where }: { readonly namespace: string; readonly place: LeadPlace; readonly signal: AbortSignal },
): Promise<void> {
  await patchJob(client, where, { metadata: { annotations: { [Annotation.lead]: JSON.stringify(place) } } });
}

/** True when the Job of this lead has had another before. By a patch that changes nothing, because the lead may not read its Job. */
export async function hasHadLead(client: Client, where: { readonly namespace: string; readonly signal: AbortSignal }): Promise<boolean> {
  const { metadata } = await patchJob(client, where, {});
  return metadata.annotations?.[Annotation.lead] !== undefined;
}

/** By the status: the lead must not touch the spec. */
function patchJob(client: Client, { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal }, change: object) {
  const options = { type: 'merge', subresource: 'status', signal, timeoutMs: CALL_MS } as const;
  return client.patch(Job, { namespace, name: SpokeName.job }, change, options);
}

/** Reads where the lead of a running Job is; undefined while there is none. */
export async function findLead(client: Client, namespace: string, signal: AbortSignal): Promise<LeadPlace | undefined> {
  const job = await client.get(Job, { namespace, name: SpokeName.job }, { signal, timeoutMs: CALL_MS });
  const text = job?.metadata.annotations?.[Annotation.lead];
  if (text === undefined || text.length > 1_024 || job?.metadata.deletionTimestamp !== undefined) return undefined;
  return LeadPlace.safeParse(readJson(text)).data;
}

/** Verifies the tokens of other pods by the keys that the cluster publishes to every account. */
export function createVerifier(client: Client, clock: Clock): (token: string) => Promise<PodIdentity | RefusedToken> {
  let keys = parseKeys('{"keys":[]}');
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    keys = parseKeys(await client.getText('/openid/v1/jwks', { maxBytes: KEYS_BYTES, timeoutMs: CALL_MS }));
  };
  return async (token) => {
    const known = await verifyPodToken(token, keys, clock.now());
    if ('pod' in known) return known;
    if (clock.now() - readAt >= KEYS_EVERY_MS) {
      readAt = clock.now();
      reading = read();
    }
    // Nodes that come at the same time share one reading.
    try {
      await reading;
    } catch (error) {
      return { refusal: `the keys of the cluster, which verify its token, cannot be read: ${errorMessage(error)}` };
    }
    return verifyPodToken(token, keys, clock.now());
  };
}
