import { parseStrictVersion } from '../semantic-version.ts';

/** Where updates are asked for when neither an option nor the ClusterVersion names a service. */
export const DEFAULT_UPDATE_SERVICE = 'https://api.openshift.com/api/upgrades_info/v1/graph';

/** What updates are asked for with. */
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

/** What the RetrievedUpdates condition says of a request that failed. */
export const retrievalFailed = (reason: string, why: string): UpdateRefusal => ({
  reason,
  message: `Unable to retrieve available updates: ${why}`,
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const isText = (value: string) => value !== '';

type Check = (query: UpdateQuery) => UpdateRefusal | undefined;

/** The first that refuses decides. */
const checks: readonly Check[] = [
  ({ service }) => refuseUnless(isText(service), 'NoUpstream', 'No updateService server has been set to retrieve updates.'),
  ({ service }) => {
    const shown = JSON.stringify(withoutCredentials(service));
    return refuseUnless(
      /^https?:\/\//i.test(service) && URL.canParse(service),
      'InvalidURI',
      `failed to parse update service URL: ${shown} is not an http or https URL`,
    );
  },
  ({ clusterId }) =>
    refuseUnless(UUID.test(clusterId), 'InvalidID', `invalid cluster ID: ${JSON.stringify(clusterId)} is not a UUID; set spec.clusterID`),
  ({ architecture }) => refuseUnless(isText(architecture), 'NoArchitecture', 'Architecture has not been configured.'),
  ({ version }) =>
    refuseUnless(
      isText(version),
      'NoCurrentVersion',
      'The cluster version does not have a semantic version assigned and cannot calculate valid upgrades.',
    ),
  ({ channel }) => refuseUnless(isText(channel), 'NoChannel', 'The update channel has not been configured.'),
  ({ version }) =>
    refuseUnless(
      parseStrictVersion(version) !== undefined,
      'InvalidCurrentVersion',
      'The current cluster version is not a valid semantic version and cannot be used to calculate upgrades.',
    ),
];

const refuseUnless = (holds: boolean, reason: string, message: string): UpdateRefusal | undefined =>
  holds ? undefined : { reason, message };

/** Why updates cannot even be asked for (spec/cvo 5.7); undefined when they can. */
export function refuseQuery(query: UpdateQuery): UpdateRefusal | undefined {
  for (const check of checks) {
    const refusal = check(query);
    if (refusal) return refusal;
  }
  return undefined;
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
