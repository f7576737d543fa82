import { errorMessage, FlotillaError } from '@flotilla/api';
import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { ApiError, isUntrusted, RuntimeErrorCode } from '@flotilla/runtime';
import { Exit, endWith } from './run.ts';
import { safeText, writeErr } from './terminal/output.ts';

/** Says why the command could not do its work, and the next step; never a stack. */
export function complain(error: unknown): void {
  writeErr(`flotilla: ${safeText(nextStep(error))}\n`);
  endWith((error instanceof FlotillaError && exits[error.code]) || Exit.unknown);
}

/** Codes of errors that answer, or that are somebody's typing; else the command could not find out. */
const exits: Readonly<Record<string, (typeof Exit)['usage' | 'no' | 'timeUp']>> = {
  FLOTILLA_CONFIG: Exit.usage,
  FLOTILLA_NOT_ACCEPTED: Exit.no,
  FLOTILLA_TIME_UP: Exit.timeUp,
};

/** The sentence for an error, with what to do about it. */
export function nextStep(error: unknown): string {
  if (error instanceof RegistryError && error.code === RegistryErrorCode.unauthorized) return `${errorMessage(error)} (--pull-secret)`;
  if (!(error instanceof ApiError)) return isMissingFile(error) ? `${errorMessage(error)}: name one that is there` : errorMessage(error);
  // A page's own cause is the parser's complaint.
  if (error.isForeign)
    return `${error.message}: not an API server: look at clusters[].cluster.server of the kubeconfig, and at a proxy on the way`;
  if (isUntrusted(error))
    return `${error.message}: the server is not trusted: put the PEM of its authority into certificate-authority of the kubeconfig`;
  if (error.serverMessage.includes('HTTP request to an HTTPS server'))
    return `${errorMessage(error)}: use https in clusters[].cluster.server of the kubeconfig`;
  if (error.code === RuntimeErrorCode.forbidden) return missingRight(error);
  if (error.code === RuntimeErrorCode.unauthorized)
    return `${errorMessage(error)}: the server does not accept the credentials of the kubeconfig; log in again, or name another --context`;
  if (error.code === RuntimeErrorCode.unreachable || error.code === RuntimeErrorCode.timeout)
    return `${errorMessage(error)}: see that the server of the kubeconfig runs and can be reached from here, or name another --kubeconfig or --context`;
  if (error.code === RuntimeErrorCode.notFound)
    return `${errorMessage(error)}: the server does not serve that kind; name the hub with --kubeconfig or --context, or install the hub's CRDs (charts/hub)`;
  return errorMessage(error);
}

/** A file or folder that somebody named is not there, here or in what it was caused by. */
function isMissingFile(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 'ENOENT') || isMissingFile(error.cause);
}

/** Kubernetes' words for a missing right. */
const DENIED = /cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/** ClusterRoles of charts/hub, named for the release `flotilla`, by what they let one read. */
const roles: Readonly<Record<string, string>> = {
  clustergroupupgrades: 'flotilla-view',
  precachingconfigs: 'flotilla-view',
};
const INSPECT = 'flotilla-inspect';
const STEER = 'flotilla-steer';
const OPERATE = 'flotilla-operate';
const PROBE = 'flotilla-probe';
/** Kinds by which an inspection reaches a cluster. */
const reaching: ReadonlySet<string> = new Set(['manifestworks', 'managedclusteractions', 'managedclusterviews']);
const reading: ReadonlySet<string | undefined> = new Set(['get', 'list']);

function roleFor(verb: string | undefined, plural: string): string {
  if (plural === 'deployments' || (reaching.has(plural) && !reading.has(verb))) return PROBE;
  if (verb === 'patch') return STEER;
  return verb === 'create' ? OPERATE : (roles[plural] ?? INSPECT);
}

/** Names the right that is missing, and the ClusterRole that has it. */
function missingRight(error: ApiError): string {
  const [, verb, resource = '', group = '', namespace] = DENIED.exec(error.serverMessage) ?? [];
  if (verb === undefined) return errorMessage(error);
  return lackOf({ verb, kind: { plural: resource, apiVersion: group === '' ? 'v1' : `${group}/` }, namespace });
}

/** Groups whose objects are on a cluster that is upgraded, where no role of the hub's chart counts. */
const OF_SPOKES = /^(?:config\.openshift\.io|upgrade\.managed\.openshift\.io|machineconfiguration\.openshift\.io)\//;

/** A right that somebody lacks. */
interface Lack {
  readonly verb: string;
  readonly kind: { readonly plural: string; readonly apiVersion: string };
  /** All of them when absent. */
  readonly namespace?: string | undefined;
}

/** The sentence on a missing right, with the ClusterRole that has it. */
export function lackOf({ verb, kind: { plural, apiVersion }, namespace }: Lack): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  if (OF_SPOKES.test(apiVersion))
    return `you may not ${verb} ${plural}${group} ${where}: ask for a role of that cluster that has this right, such as cluster-reader`;
  return `you may not ${verb} ${plural}${group} ${where}: ask for ClusterRole ${roleFor(verb, plural)} of charts/hub, which has that right`;
}
