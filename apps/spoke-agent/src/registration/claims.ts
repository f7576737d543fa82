/** Claims that the agent keeps on its ManagedCluster: the version and product of the spoke, its nodes, and how the hub may reach it. */
import { foreign, isJsonObject, isSameJson } from '@flotilla/api';
import { AGENT_CLAIMS, CLAIM_VALUE_CHARS, ClusterClaim, NODE_PULLERS, PULLER_ACCOUNT } from '@flotilla/api/ocm';
import { SpokeName } from '@flotilla/api/ran';
import { type Client, type Clock, isForbidden, type Logger, pause } from '@flotilla/runtime';
import { z } from 'zod';
import { type StatusChange, updateClusterStatus } from './availability.ts';

/** Milliseconds between looks: a second node that is claimed late is not filled. A long list of nodes costs the spoke, so it is read less often. */
const LOOK_EVERY_MS = 60_000;
const LOOK_AT_MANY_EVERY_MS = 10 * 60_000;
/** Milliseconds after which unchanged claims are compared with those on the hub. */
const COMPARE_EVERY_MS = 10 * 60_000;
const RETRY_AFTER_MS = 60_000;
/** Nodes above which a look comes seldom. */
const MANY_NODES = 100;
/** Nodes of one answer: with many images a node takes 100 KB and more. */
const NODE_PAGE = 20;
const MOST_NODES = 5_000;
const ANSWER_BYTES = 4 * 1024 * 1024;

/** Observed facts of the spoke. */
export interface SpokeFacts {
  /** `gitVersion` of the API server. */
  readonly kubeVersion: string;
  /** API groups it serves. */
  readonly groups: readonly string[];
  /** Nodes; undefined where the agent may not list them. */
  readonly nodes: readonly { readonly architecture: string; readonly runtime: string }[] | undefined;
  /** The account that applies works may create the objects of pre-caching. */
  readonly worksMayPrecache: boolean;
  /** The agent creates the account of the puller. */
  readonly makesPullerAccount: boolean;
  /** It creates the pullers of other nodes, and their account. */
  readonly makesNodePullers: boolean;
}

interface Claim {
  readonly name: string;
  readonly value: string;
}

/** Suffixes of `gitVersion` that identify distributions. */
const DISTRIBUTIONS: readonly (readonly [RegExp, string])[] = [
  [/\+k3s/, 'K3s'],
  [/\+rke2/, 'RKE2'],
  [/\+microk8s|-microk8s/i, 'MicroK8s'],
  [/-eks-/, 'EKS'],
  [/-gke\./, 'GKE'],
  [/-aks/i, 'AKS'],
];

/** OpenShift is identified by the API that admits its pods. A ClusterVersion proves nothing, because our version operator brings one. */
function productOf({ groups, kubeVersion }: SpokeFacts): string {
  if (groups.includes('security.openshift.io')) return groups.includes('config.openshift.io') ? 'OpenShift' : 'MicroShift';
  return DISTRIBUTIONS.find(([pattern]) => pattern.test(kubeVersion))?.[1] ?? 'Other';
}

/** Renders `2 amd64 containerd://2.1.4, 1 arm64 cri-o://1.33.0`, the most frequent first; cut after a whole entry. */
function nodesText(nodes: NonNullable<SpokeFacts['nodes']>): string {
  const counts = new Map<string, number>();
  for (const { architecture, runtime } of nodes)
    counts.set(`${architecture} ${runtime}`, (counts.get(`${architecture} ${runtime}`) ?? 0) + 1);
  const entries = [...counts]
    .toSorted(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))
    .map(([kind, count]) => `${count} ${kind}`);
  return entries.reduce((text, entry) => {
    const longer = text === '' ? entry : `${text}, ${entry}`;
    return longer.length > CLAIM_VALUE_CHARS ? text : longer;
  }, '');
}

/** Builds the agent's claims about its spoke. Pure. */
export function toClaims(facts: SpokeFacts): Claim[] {
  const claims = [
    { name: ClusterClaim.kubeVersion, value: facts.kubeVersion },
    { name: ClusterClaim.product, value: productOf(facts) },
    { name: ClusterClaim.nodes, value: nodesText(facts.nodes ?? []) },
    { name: ClusterClaim.transports, value: transportsText(facts) },
  ];
  // A hub takes no claim without a value, and none of the others beside it.
  return claims.filter(({ value }) => value !== '');
}

const transportsText = ({ worksMayPrecache, makesPullerAccount, makesNodePullers }: SpokeFacts): string =>
  [
    'actions',
    ...(worksMayPrecache ? ['works'] : []),
    ...(makesPullerAccount ? [PULLER_ACCOUNT] : []),
    ...(makesNodePullers ? [NODE_PULLERS] : []),
  ].join(',');

/** Replaces our claims in the list; other claims keep their place. */
export function withClaims(current: unknown, ours: readonly Claim[]): unknown[] {
  const others = Array.isArray(current) ? current.filter((claim) => !isOurs(claim)) : [];
  return [...others, ...ours];
}

const isOurs = (claim: unknown): boolean => isJsonObject(claim) && typeof claim.name === 'string' && AGENT_CLAIMS.includes(claim.name);

interface ClaimsDeps {
  readonly hub: Pick<Client, 'get' | 'patch'>;
  readonly spoke: Pick<Client, 'getText' | 'request'>;
  /** Client of the account that applies works; undefined: this agent applies none. */
  readonly workSpoke: Pick<Client, 'request'> | undefined;
  readonly makesPullerAccount: boolean;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Observes the spoke and keeps its claims on the hub, until the signal aborts. Asks the hub little, and writes only changes. */
export async function reportClaims(deps: ClaimsDeps, signal: AbortSignal): Promise<void> {
  const { clock, logger, clusterName } = deps;
  let reported: { readonly claims: readonly Claim[]; readonly at: number } | undefined;
  while (!signal.aborted) {
    let pauseMs = RETRY_AFTER_MS;
    try {
      const facts = await observeSpoke(deps, signal);
      const claims = toClaims(facts);
      const isOld = !reported || clock.now() - reported.at >= COMPARE_EVERY_MS || !isSameJson(reported.claims, claims);
      if (isOld) reported = (await report(deps, claims, signal)) ? { claims, at: clock.now() } : undefined;
      const { length: nodes } = facts.nodes ?? { length: Number.POSITIVE_INFINITY };
      if (reported) pauseMs = nodes > MANY_NODES ? LOOK_AT_MANY_EVERY_MS : LOOK_EVERY_MS;
    } catch (err) {
      if (!signal.aborted) logger.warn({ err, managedCluster: clusterName }, 'Reporting claims failed');
    }
    await pause(clock, pauseMs, signal);
  }
}

async function report(deps: ClaimsDeps, claims: readonly Claim[], signal: AbortSignal): Promise<boolean> {
  const change: StatusChange = (status) => ({ ...status, clusterClaims: withClaims(status.clusterClaims, claims) });
  const written = await updateClusterStatus(deps, change, signal);
  if (written === 'written') deps.logger.info({ claims }, 'Reported claims');
  return written !== 'absent';
}

const Version = foreign(z.looseObject({ gitVersion: z.string().max(128) }));
const Groups = foreign(z.looseObject({ groups: z.array(z.looseObject({ name: z.string() })) }));
const short = z.string().max(128);
const Nodes = foreign(
  z.looseObject({
    metadata: z.looseObject({ continue: z.string().optional() }),
    items: z.array(
      z.looseObject({ status: z.looseObject({ nodeInfo: z.looseObject({ architecture: short, containerRuntimeVersion: short }) }) }),
    ),
  }),
);

async function observeSpoke(deps: ClaimsDeps, signal: AbortSignal): Promise<SpokeFacts> {
  const read = async (path: string): Promise<unknown> => JSON.parse(await deps.spoke.getText(path, { maxBytes: ANSWER_BYTES, signal }));
  const { gitVersion } = Version.parse(await read('/version'));
  const { groups } = Groups.parse(await read('/apis'));
  return {
    kubeVersion: gitVersion,
    groups: groups.map(({ name }) => name),
    nodes: await readNodes(deps, read),
    worksMayPrecache: deps.workSpoke !== undefined && (await mayCreate(deps.workSpoke, CREATED, signal)),
    makesPullerAccount: deps.makesPullerAccount,
    makesNodePullers: deps.makesPullerAccount && (await mayCreate(deps.workSpoke ?? deps.spoke, NODES_CREATED, signal)),
  };
}

async function readNodes({ logger }: ClaimsDeps, read: (path: string) => Promise<unknown>): Promise<SpokeFacts['nodes']> {
  const nodes: { architecture: string; runtime: string }[] = [];
  let next = '';
  try {
    do {
      const page = Nodes.parse(await read(`/api/v1/nodes?limit=${NODE_PAGE}${next && `&continue=${encodeURIComponent(next)}`}`));
      for (const { status } of page.items)
        nodes.push({ architecture: status.nodeInfo.architecture, runtime: status.nodeInfo.containerRuntimeVersion });
      next = page.metadata.continue ?? '';
    } while (next !== '' && nodes.length < MOST_NODES);
    return nodes;
  } catch (err) {
    if (!isForbidden(err)) throw err;
    logger.info({ err }, 'Leaving nodes out of the claims: the agent may not list them; upgrade charts/spoke');
    return undefined;
  }
}

/** Resources that a work of pre-caching creates. */
const CREATED = [
  { group: '', resource: 'namespaces' },
  { group: '', resource: 'serviceaccounts' },
  { group: '', resource: 'configmaps' },
  { group: 'rbac.authorization.k8s.io', resource: 'roles' },
  { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
  { group: 'batch', resource: 'jobs' },
] as const;

/** And where there are more nodes than one. */
const NODES_CREATED = [{ group: 'apps', resource: 'daemonsets' }] as const;

const Review = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

async function mayCreate(
  client: Pick<Client, 'request'>,
  kinds: readonly { readonly group: string; readonly resource: string }[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const { group, resource } of kinds) {
    const namespace = resource === 'namespaces' ? {} : { namespace: SpokeName.namespace };
    const body = { spec: { resourceAttributes: { verb: 'create', group, resource, ...namespace } } };
    const answer = await client.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body, signal });
    if (!Review.parse(answer).status.allowed) return false;
  }
  return true;
}
