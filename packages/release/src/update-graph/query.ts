import { parseVersion } from '../semantic-version.ts';

/** Where updates are asked for when neither an option nor the ClusterVersion names a service. */
export const DEFAULT_UPDATE_SERVICE = 'https://api.openshift.com/api/upgrades_info/v1/graph';

/** Parameters of a request for updates. */
export interface UpdateQuery {
  /** URL of the update-graph service; empty for none. */
  readonly service: string;
  readonly clusterId: string;
  /** `multi`, or the architecture as Go names it. */
  readonly architecture: string;
  readonly channel: string;
  readonly version: string;
}

/** Why updates are not known; a reason of the RetrievedUpdates condition and its message. */
export interface UpdateRefusal {
  readonly reason: string;
  readonly message: string;
}

/** Reason and message of the RetrievedUpdates condition about a request that failed. */
export const retrievalFailed = (reason: string, why: string): UpdateRefusal => ({
  reason,
  message: `Unable to retrieve available updates: ${why}`,
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Checks of a query, each with reason and message of its failure; the first that does not hold decides. */
const checks: readonly (readonly [holds: (query: UpdateQuery) => boolean, reason: string, message: (query: UpdateQuery) => string])[] = [
  [({ service }) => service !== '', 'NoUpstream', () => 'No updateService server has been set to retrieve updates.'],
  [
    ({ service }) => /^https?:\/\//i.test(service) && URL.canParse(service),
    'InvalidURI',
    ({ service }) => `failed to parse update service URL: ${JSON.stringify(withoutCredentials(service))} is not an http or https URL`,
  ],
  [
    ({ clusterId }) => UUID.test(clusterId),
    'InvalidID',
    ({ clusterId }) => `invalid cluster ID: ${JSON.stringify(clusterId)} is not a UUID; set spec.clusterID`,
  ],
  [({ architecture }) => architecture !== '', 'NoArchitecture', () => 'Architecture has not been configured.'],
  [
    ({ version }) => version !== '',
    'NoCurrentVersion',
    () => 'The cluster version does not have a semantic version assigned and cannot calculate valid upgrades.',
  ],
  [({ channel }) => channel !== '', 'NoChannel', () => 'The update channel has not been configured.'],
  [
    ({ version }) => parseVersion(version) !== undefined,
    'InvalidCurrentVersion',
    () => 'The current cluster version is not a valid semantic version and cannot be used to calculate upgrades.',
  ],
];

/** Why updates cannot even be asked for (spec/cvo 5.7); undefined when they can. */
export function refuseQuery(query: UpdateQuery): UpdateRefusal | undefined {
  const [, reason, message] = checks.find(([holds]) => !holds(query)) ?? [];
  return reason === undefined || message === undefined ? undefined : { reason, message: message(query) };
}

/** URL to ask; a query that the service's URL has already is kept. */
export function updateUrl({ service, clusterId, architecture, channel, version }: UpdateQuery): URL {
  const url = new URL(service);
  for (const [key, value] of Object.entries({ arch: architecture, channel, id: clusterId, version })) url.searchParams.set(key, value);
  return url;
}

/** Headers of the request. */
export const updateHeaders = (operatorVersion: string): Readonly<Record<string, string>> => ({
  accept: 'application/json',
  'user-agent': `ClusterVersionOperator/${operatorVersion}`,
});

/** A text without user and password of URLs in it: conditions are for everybody. */
export const withoutCredentials = (text: string): string => text.replaceAll(/(https?:\/\/)[^/\s@]*@/gi, '$1');
